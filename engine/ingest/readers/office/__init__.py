"""Documents, workbooks, slides and books of office programs."""
