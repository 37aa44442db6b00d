"""The HTTP edge: resolver, requests, rendering of answers, streams. Imported by the functions, by nothing below."""
