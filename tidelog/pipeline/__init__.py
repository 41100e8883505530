"""Pipelines on Spark: changes in, a materialisation kept up to date, tables and feeds out."""

from tidelog.pipeline.pipeline import Pipeline, Summary
from tidelog.pipeline.settings import Map, Sink, Source, Trigger

__all__ = ["Map", "Pipeline", "Sink", "Source", "Summary", "Trigger"]
