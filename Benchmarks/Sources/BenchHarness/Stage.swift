/// The directories and the scale of a trial.
package struct Stage {
    /// An empty directory on the disk under test.
    package let disk: Folder
    /// An empty directory in memory, or on the disk if there is no memory file system.
    package let memory: Folder
    package let scale: Scale
}

/// The amount of work in a run.
package struct Scale: Sendable {
    package let isQuick: Bool
    package let rounds: Int

    /// Creates a scale; by default, quick runs have 3 rounds and others 5.
    package init(isQuick: Bool, rounds: Int? = nil) {
        self.isQuick = isQuick
        self.rounds = rounds ?? (isQuick ? 3 : 5)
    }

    /// The duration of a round limited by time.
    package var roundSeconds: Double { isQuick ? 0.2 : 1 }

    /// Returns the amount for this scale.
    package func pick(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }
}
