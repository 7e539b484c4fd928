print("sheaf")
