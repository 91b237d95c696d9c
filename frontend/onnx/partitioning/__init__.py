"""A model of which some nodes run on the host, divided into parts."""
