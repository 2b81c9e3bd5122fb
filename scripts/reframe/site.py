# SPDX-License-Identifier: Apache-2.0
"""An example of a site's configuration for ReFrame: a Slurm cluster with a partition of GPUs."""

site_configuration = {
    "systems": [
        {
            "name": "cluster",
            "descr": "change the names, hostnames and access options to your site's",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "gpu",
                    "scheduler": "slurm",
                    "launcher": "local",  # scripts/bench starts its own processes
                    "access": ["--partition=gpu"],
                    "environs": ["builtin"],
                    "features": ["gpu"],
                    "max_jobs": 1000,
                }
            ],
        }
    ],
}
