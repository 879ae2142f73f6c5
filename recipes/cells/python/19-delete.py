# remove what the cells have made
# after: deploy

# %% Clean up
app.delete()
