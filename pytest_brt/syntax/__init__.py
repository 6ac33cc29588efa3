"""Python source as syntax trees: parsing it, the names in it, its normal form."""
