package import SheafDocument

/// A batch of commits that is applied atomically, or its part received so far.
///
/// A batch has one commit, or several parts of a long one.
package struct ShippedStep: Equatable, Sendable {
    package let generation: UInt64
    package let commits: [ShippedCommit]
    /// The numbered names of the connection.
    package let names: NameTable
    /// Received bytes for which credit is returned once the batch is applied.
    package let length: Int

    /// Total length of ids and documents, in bytes.
    package var documentLength: Int {
        commits.reduce(0) { length, commit in
            commit.documents.reduce(length) { $0 + $1.id.count + $1.bytes.count }
        }
    }

    /// Whether further parts of the batch follow.
    package var isContinued: Bool { commits.last?.isContinued ?? false }

    /// Whether the commit continues in the next batch.
    package var isCut: Bool { commits.last?.isCut ?? false }

    /// The sender's commit that the receiver reaches with the batch.
    package var commit: UInt64 { commits.last?.commit ?? 0 }
}
