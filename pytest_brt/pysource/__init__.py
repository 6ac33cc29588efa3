"""Python source as text and syntax trees: parsing it, the names in it, its normal form."""
