import SheafDocument
import SheafEngine
import SheafStorage

/// The evaluation of commits that are not sent yet.
struct Judging {
    struct Commit {
        let number: CommitID
        let snapshot: DocumentSnapshot
        /// Index of the first change that is not evaluated.
        var next = 0
        var found: [Concerning] = []
    }

    var openCommit: Commit?
    /// Evaluated commits that are announced together, or of which nothing is sent.
    var done: [CommitID: [Concerning]] = [:]
}

/// A document that a commit wrote, and that must be sent to the peer.
struct Concerning {
    let key: [UInt8]
    let address: DocumentAddress
    let written: DocumentSnapshot.Written
    /// Whether it matched before the commit, in which case the peer has it.
    let hasMatched: Bool
}
