/// Parameters of the reference system without effect.
extension Reference {
    static let ignoredParameters: [ReferenceEntry] = [
        ReferenceEntry(
            .parameter, "rotating_log_file_max_size_mb",
            syntax: [
                "ALTER SYSTEM SET rotating_log_file_max_size_mb = value"
            ],
            summary: "Accepted for compatibility, without effect; 1 by default.",
            details: [
                """
                Any other name that begins with `rotating_log_file_`, `mesh_chooser_` or \
                `transports_` is accepted, too.
                """
            ],
            examples: [
                ReferenceExample(
                    "SHOW rotating_log_file_max_size_mb",
                    ["{\"rotating_log_file_max_size_mb\":1}"])
            ]),
        ReferenceEntry(
            .parameter, "rotating_log_file_max_age_h",
            syntax: [
                "ALTER SYSTEM SET rotating_log_file_max_age_h = value"
            ],
            summary: "Accepted for compatibility, without effect; 24 by default.",
            examples: [
                ReferenceExample(
                    "SHOW rotating_log_file_max_age_h",
                    ["{\"rotating_log_file_max_age_h\":24}"])
            ]),
        ReferenceEntry(
            .parameter, "rotating_log_file_max_files_on_disk",
            syntax: [
                "ALTER SYSTEM SET rotating_log_file_max_files_on_disk = value"
            ],
            summary: "Accepted for compatibility, without effect; 15 by default.",
            examples: [
                ReferenceExample(
                    "SHOW rotating_log_file_max_files_on_disk",
                    ["{\"rotating_log_file_max_files_on_disk\":15}"])
            ]),
        ReferenceEntry(
            .parameter, "mesh_chooser_avoid_redundant_bluetooth",
            syntax: [
                "ALTER SYSTEM SET mesh_chooser_avoid_redundant_bluetooth = value"
            ],
            summary: "Accepted for compatibility, without effect; true by default.",
            examples: [
                ReferenceExample(
                    "SHOW mesh_chooser_avoid_redundant_bluetooth",
                    ["{\"mesh_chooser_avoid_redundant_bluetooth\":true}"])
            ]),
        ReferenceEntry(
            .parameter, "transports_discovered_peers",
            syntax: [
                "ALTER SYSTEM SET transports_discovered_peers = value"
            ],
            summary: """
                Accepted for compatibility, without effect; an empty array by \
                default.
                """,
            examples: [
                ReferenceExample(
                    "SHOW transports_discovered_peers",
                    ["{\"transports_discovered_peers\":[]}"])
            ]),
    ]
}
