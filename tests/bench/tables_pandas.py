# SPDX-License-Identifier: MIT
"""tables_pandas.py FROM OUT: recipe 21's features by pandas, the same tables and files."""
import sys

import numpy as np
import pandas as pd

FROM, OUT = sys.argv[1:]
CATEGORICAL = """Store State DayOfWeek Year Month Day Week CompetitionMonthsOpen Promo2Weeks StoreType Assortment PromoInterval
CompetitionOpenSinceYear Promo2SinceYear Events Promo StateHoliday SchoolHoliday""".split()
CONTINUOUS = """CompetitionDistance Max_TemperatureC Mean_TemperatureC Min_TemperatureC Max_Humidity Mean_Humidity Min_Humidity
Max_Wind_SpeedKm_h Mean_Wind_SpeedKm_h CloudCover trend trend_DE BeforePromo AfterPromo AfterStateHoliday BeforeStateHoliday
BeforeSchoolHoliday AfterSchoolHoliday""".split()


def csv(name, **more):
    return pd.read_csv(f"{FROM}/{name}.csv", **more)


def expand(frame, parts):
    week = frame.Date.dt.isocalendar().week.astype("int64")
    made = {"Year": frame.Date.dt.year, "Month": frame.Date.dt.month, "Week": week, "Day": frame.Date.dt.day}
    return frame.assign(**{name: made[name] for name in parts})


store = csv("store").merge(csv("store_states"), on="Store")
store = store.fillna({"CompetitionOpenSinceYear": 1900, "CompetitionOpenSinceMonth": 1, "Promo2SinceYear": 1900, "Promo2SinceWeek": 1})
since = pd.to_datetime({"year": store.CompetitionOpenSinceYear, "month": store.CompetitionOpenSinceMonth, "day": 15})
store["CompetitionSince"] = since.where(store.CompetitionOpenSinceYear > 1900)
since = pd.to_datetime({"year": store.Promo2SinceYear, "month": 1, "day": 1}) + pd.to_timedelta((store.Promo2SinceWeek - 1) * 7, unit="D")
store["Promo2Since"] = since.where(store.Promo2SinceYear > 1900)

trends = csv("googletrend")
trends["State"] = trends.file.str.extract("Rossmann_DE_(.*)", expand=False).replace({"NI": "HB,NI"}).fillna("DE")
trends["Date"] = pd.to_datetime(trends.week.str.split().str[0])
trends = expand(trends, ["Year", "Week"])[["State", "Year", "Week", "trend"]]
germany = trends[trends.State == "DE"].drop(columns="State").rename(columns={"trend": "trend_DE"})
weather = csv("weather", parse_dates=["Date"]).merge(csv("state_names").rename(columns={"StateName": "file"}), on="file").drop(columns="file")


def prepare(name):
    frame = csv(name, parse_dates=["Date"], dtype={"StateHoliday": "category"})
    frame["StateHoliday"] = (frame.StateHoliday != "0").astype("int64")
    frame = expand(frame, ["Year", "Month", "Week", "Day"])
    frame = frame.merge(store, on="Store", how="left").merge(trends, on=["State", "Year", "Week"], how="left")
    frame = frame.merge(germany, on=["Year", "Week"], how="left").merge(weather, on=["State", "Date"], how="left")
    frame["CompetitionMonthsOpen"] = ((frame.Date - frame.CompetitionSince).dt.days.clip(0, 720) // 30).fillna(0).astype("int64")
    frame["Promo2Weeks"] = ((frame.Date - frame.Promo2Since).dt.days.clip(0, 175) // 7).fillna(0).astype("int64")
    return frame


train, test = prepare("train"), prepare("test")
columns = ["Id", "Date", "Sales", *CATEGORICAL, *CONTINUOUS[:12]]
days = pd.concat([train.assign(Id=0)[columns], test.assign(Sales=0)[columns]]).sort_values(["Store", "Date"], ignore_index=True)
for name in ("Promo", "StateHoliday", "SchoolHoliday"):
    there = days.Date.where(days[name] != 0)
    groups = there.groupby(days.Store)
    days["After" + name] = (days.Date - groups.ffill()).dt.days.fillna(0)
    days["Before" + name] = (days.Date - groups.bfill()).dt.days.fillna(0)
codes = {name: pd.factorize(days[name], sort=True) for name in CATEGORICAL}
for name, (numbers, _) in codes.items():
    days[name] = numbers + 1

first, last = test.Date.min(), test.Date.max()
year = pd.Timedelta(365, unit="D")
sold = days.Sales > 0
held = sold & (days.Date >= first - year) & (days.Date < last - year)
parts = {"train": days[sold & ~held], "val": days[held], "test": days[days.Id > 0].sort_values("Id")}
mean, std = days[CONTINUOUS].mean(), days[CONTINUOUS].std(ddof=0)
for name, part in parts.items():
    np.save(f"{OUT}/{name}_codes.npy", part[CATEGORICAL].to_numpy("int64"))
    np.save(f"{OUT}/{name}_numbers.npy", ((part[CONTINUOUS] - mean) / std).fillna(0).to_numpy("float32"))
    np.save(f"{OUT}/{name}_{'ids' if name == 'test' else 'sales'}.npy", part["Id" if name == "test" else "Sales"].to_numpy())
np.savez(f"{OUT}/about.npz", sizes=np.array([len(codes[name][1]) + 1 for name in CATEGORICAL]), most=np.array([parts["train"].Sales.max()], "float32"))

means = parts["train"].groupby(["Store", "DayOfWeek"]).Sales.mean().rename("Expected").reset_index()
whole = parts["train"].groupby("Store").Sales.mean().rename("Whole").reset_index()
guess = parts["val"].merge(means, on=["Store", "DayOfWeek"], how="left").merge(whole, on="Store")
error = ((guess.Sales - guess.Expected.fillna(guess.Whole)) / guess.Sales) ** 2
print("rows", len(parts["train"]))
print("rmspe", float(np.sqrt(error.mean())))
