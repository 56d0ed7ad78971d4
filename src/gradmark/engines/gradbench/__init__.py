"""The bridge to GradBench's tools: programs that differentiate and are asked for it in lines of JSON."""
