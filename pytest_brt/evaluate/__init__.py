"""Studies: how good the tool is on a data set of bugs, by the papers' own measures."""
