"""What producer, consumer and admin client stand on: the cluster's metadata, its coordinators, and ways to ask them."""
