/// Where a trial takes place, and how long it may take.
package struct Stage {
    /// An empty directory on the disk under test, for this trial alone.
    package let disk: Folder
    /// An empty directory in memory, for this trial alone; on the disk where there is no such.
    package let memory: Folder
    package let scale: Scale
}

/// How much work a run does.
package struct Scale: Sendable {
    package let isQuick: Bool
    package let rounds: Int

    /// A scale of `rounds` rounds, or as many as the pace asks for.
    package init(isQuick: Bool, rounds: Int? = nil) {
        self.isQuick = isQuick
        self.rounds = rounds ?? (isQuick ? 3 : 5)
    }

    /// How long a round lasts where time bounds it.
    package var roundSeconds: Double { isQuick ? 0.2 : 1 }

    /// The amount for this scale.
    package func pick(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }
}
