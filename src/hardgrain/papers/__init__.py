"""Publications whose experiments are run again by code, claim by claim."""
