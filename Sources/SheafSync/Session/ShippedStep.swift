package import SheafDocument

/// Commits that are applied all at once, or not at all: mostly one, and several where one is long; or what
/// has come of them by now.
package struct ShippedStep: Equatable, Sendable {
    package let generation: UInt64
    package let commits: [ShippedCommit]
    /// The names that have numbers on the connection.
    package let names: NameTable
    /// How many bytes came for it, for which there is credit when it was applied.
    package let length: Int

    /// How many bytes its documents have.
    package var documentLength: Int {
        commits.reduce(0) { length, commit in
            commit.documents.reduce(length) { $0 + $1.id.count + $1.bytes.count }
        }
    }

    /// Whether more of it is to come.
    package var isContinued: Bool { commits.last?.isContinued ?? false }

    /// Whether it is only the beginning of what belongs to its commit.
    package var isCut: Bool { commits.last?.isCut ?? false }

    /// The state of the other side that this side has then.
    package var commit: UInt64 { commits.last?.commit ?? 0 }
}
