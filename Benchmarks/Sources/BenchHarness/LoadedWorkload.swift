/// A workload that is described by a file.
package struct LoadedWorkload {
    /// Settings and steps in sentences, for `--check`.
    package let summary: [String]
    /// A digest of the contents, without comments and spacing.
    package let digest: String
    package let durability: String
    /// The seed of all generated values.
    package let seed: UInt64
    /// The number of rounds; nil if the file does not set it.
    package let rounds: Int?
    /// Compares the systems in an empty directory, and returns the workload, with a note for each
    /// system that is left out.
    package let prepare: (Folder) async throws -> (workload: Workload, notes: [String])

    /// Creates the description of a parsed file.
    package init(
        summary: [String], digest: String, durability: String, seed: UInt64, rounds: Int?,
        prepare: @escaping (Folder) async throws -> (workload: Workload, notes: [String])
    ) {
        self.summary = summary
        self.digest = digest
        self.durability = durability
        self.seed = seed
        self.rounds = rounds
        self.prepare = prepare
    }

    /// An error in the file, described with its location.
    package struct Malformed: Error, CustomStringConvertible {
        package let description: String

        /// Creates an error from its complete text.
        package init(_ description: String) {
            self.description = description
        }
    }
}
