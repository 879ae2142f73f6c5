# what happened: events, and the lines of all pods that matter
# after: deploy

# %% What happened
from firesteel import expect

print(app.describe())
result = app.logs(grep="prediction")
print(result)
expect(result).contains("Model prediction for index 100: 6")
