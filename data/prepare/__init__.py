"""`python -m data.prepare FORMAT ...`: real data as they are distributed -> the data set layout."""
