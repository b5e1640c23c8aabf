"""Laws of data sets that guides are trained on: labelled and unlabelled real data, tables of any columns."""
