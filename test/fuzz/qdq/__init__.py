"""Quantised (QDQ) graphs: how their parts are drawn, and how their results are judged."""
