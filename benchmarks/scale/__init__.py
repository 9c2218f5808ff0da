"""What learning costs in collections of any size: made-up embeddings, a project, one process for each verb."""
