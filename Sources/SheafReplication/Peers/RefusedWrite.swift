import SheafBytes
public import SheafDocument
import SheafEngine
package import SheafSync
public import SheafTransport

/// A local write that a peer refuses for lack of rights.
///
/// ``PeerSync/wait(for:on:)-(Int64,_)`` throws it. The local document is unchanged until it is
/// reverted or overwritten:
///
///     do {
///         try await peer.sync.wait(for: commit, on: server)
///     } catch let refused as RefusedWrite {
///         print(refused)
///         try await peer.sync.revert(refused)
///     }
public struct RefusedWrite: Error, Sendable, Hashable {
    /// The rule that forbids a write; later versions may add cases.
    public enum Reason: String, Sendable, Hashable {
        /// The rules of the peer forbid the local state of the document.
        case document
        /// The rules of the peer forbid changes to its state of the document.
        case original
        /// The grant of this peer forbids the document, so it is not sent.
        case ownGrant
    }

    /// The collection of the refused document.
    public let collection: String
    /// The id of the refused document.
    public let documentID: Value
    /// The peer that refuses the document.
    public let peer: PeerKey
    /// The rule that forbids the write.
    public let reason: Reason
    /// The local commits of the document that the peer lacks, ascending.
    ///
    /// If there are more than sixteen, these are the first and the newest ones. After a restart
    /// they can include commits that the peer has.
    public let commitIDs: [Int64]
    /// Time at which this peer received the refusal, in milliseconds since 1970.
    public let milliseconds: Int64

    /// Maximum number of commits kept for one document.
    package static let maximumCommits = 16

    /// Whether the peer lacks, or may lack, the changes of `commit` to the document.
    package func concerns(_ commit: UInt64) -> Bool {
        let commit = Int64(clamping: commit)
        guard commitIDs.count >= Self.maximumCommits, let first = commitIDs.first,
            let last = commitIDs.last
        else { return commitIDs.contains(commit) }
        return (first...last).contains(commit)
    }
}

extension RefusedWrite: CustomStringConvertible {
    /// The refusal as a sentence, with the peer, the document and the reason.
    public var description: String {
        let name = "\(Value.string(collection).json.shortened) \(documentID.json.shortened)"
        return "the peer \(peer) refuses the document \(name): \(reason)"
    }
}

extension RefusedWrite.Reason: CustomStringConvertible {
    /// The reason as a clause.
    public var description: String {
        switch self {
        case .document: "the rules of the peer do not allow the local state of the document"
        case .original: "the rules of the peer do not allow changes of its state of the document"
        case .ownGrant: "the grant of this peer does not permit the write"
        }
    }
}

extension RefusedWrite.Reason {
    package init(_ reason: RefusedNotice.Reason) {
        switch reason {
        case .result: self = .document
        case .original: self = .original
        }
    }
}

extension RefusedWrite {
    /// The row in `system:refused_writes`.
    var row: Object {
        let address = "\(peer)/\(Value.string(collection).json)/\(documentID.json)"
        return [
            "_id": .string(address), "collection": .string(collection), "document_id": documentID,
            "peer": .string(peer.description), "reason": .string(reason.rawValue),
            "message": .string(reason.description),
            "commit_ids": .array(commitIDs.map { .integer($0) }),
            "refused_at": .integer(milliseconds),
        ]
    }
}

/// The local writes that one peer refuses.
package struct PeerRefusals: Sendable {
    package var writes: [RefusedWrite] = []
    /// Number of refused documents beyond the maximum; `omittedThrough` is their newest commit.
    package var omitted: UInt64 = 0
    package var omittedThrough: UInt64 = 0

    package init() {}

    package init(writes: [RefusedWrite], omitted: UInt64, omittedThrough: UInt64) {
        (self.writes, self.omitted) = (writes, omitted)
        self.omittedThrough = omittedThrough
    }

    package var isEmpty: Bool { writes.isEmpty && omitted == 0 }
}
