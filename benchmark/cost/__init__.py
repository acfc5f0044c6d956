"""What the cells of a plan take: operations, memory, storage, time. Torch is imported where work is counted."""
