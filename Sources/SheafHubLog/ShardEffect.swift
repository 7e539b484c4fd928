package import SheafDocument

/// A deviation of a shard from a sequence of intact messages (`format-spec/hub.md`, table 4).
package enum ShardFault: Equatable, Sendable {
    /// A message that was read before.
    case repetition(HubAuthor, sequence: UInt64, entry: UInt64)
    /// An entry that was delivered before, with the same bytes.
    case repeatedEntry(UInt64)
    /// Two messages of an author contradict each other.
    case fork(HubAuthor, sequence: UInt64, entry: UInt64)
    /// The author has another digest of the entries up to one.
    case otherDigest(HubAuthor, entry: UInt64)
    /// A message arrived before an earlier one of its author.
    case early(HubAuthor, sequence: UInt64, entry: UInt64)
    /// Messages are missing beyond the limits of the reader, which continues without them.
    case lostMessages(HubAuthor, ClosedRange<UInt64>)
    /// Entries are missing before one that was delivered.
    case gap(ClosedRange<UInt64>)
    /// Missing entries were not delivered in time.
    case lostEntries(ClosedRange<UInt64>)
    /// An entry that was delivered after it counted as lost.
    case lateEntry(UInt64)
    /// A known entry number with other bytes, or a message that its author cannot have appended.
    case truncation(entry: UInt64)
    /// An entry that contains no message of the log.
    case damage(entry: UInt64, HubMessageError)
    /// A message of a newer version, where reading stops.
    case newerVersion(entry: UInt64, UInt8)
    /// A group that its author did not finish.
    case unfinishedGroup(HubAuthor, ClosedRange<UInt64>)
    /// Messages that their author did not know to be stored, and which are not.
    case unstoredMessages(HubAuthor, ClosedRange<UInt64>)
    /// Messages that cannot be those of one group.
    case malformedGroup(HubAuthor, ClosedRange<UInt64>)
    /// Another hub has read entries that the engine does not deliver.
    case staleEngine(after: UInt64)
}

extension ShardFault {
    /// The name of the fault in counters, in lower case with underscores.
    package var name: String {
        switch self {
        case .repetition: "repetition"
        case .repeatedEntry: "repeated_entry"
        case .fork: "fork"
        case .otherDigest: "other_digest"
        case .early: "early"
        case .lostMessages: "lost_messages"
        case .gap: "gap"
        case .lostEntries: "lost_entries"
        case .lateEntry: "late_entry"
        case .truncation: "truncation"
        case .damage: "damage"
        case .newerVersion: "newer_version"
        case .unfinishedGroup: "unfinished_group"
        case .unstoredMessages: "unstored_messages"
        case .malformedGroup: "malformed_group"
        case .staleEngine: "stale_engine"
        }
    }
}

/// A complete group, in the messages of which its documents are encoded.
package struct ShardGroup: Equatable, Sendable {
    /// A message of a group.
    package struct Part: Equatable, Sendable {
        package let entry: UInt64
        package let sequence: UInt64
        package let checksum: UInt64
        /// The payload; nil if the reader had no room for it, so that the entry is read again.
        package let payload: [UInt8]?
    }

    package let author: HubAuthor
    package let extent: HubMessage.Extent
    /// Whether the documents replace lost messages.
    package let replaces: Bool
    /// Its messages in their order, at least one.
    package let parts: [Part]
}

/// A consequence of read entries, which the reader of a shard leaves to its owner.
package enum ShardEffect: Equatable, Sendable {
    /// Applies a group of another author, atomically; its documents join what is stored.
    case apply(ShardGroup)
    /// Records that a message of this hub is in the log.
    case own(HubMessageID, HubMessage.Kind, entry: UInt64)
    case fault(ShardFault)
    /// Reads entries again, from the leader.
    case reread(ClosedRange<UInt64>)
    /// Requests missing messages from their author.
    case need(HubAuthor, [ClosedRange<UInt64>])
    /// Reports an incident, and acknowledges nothing while there is one.
    case incident(ShardIncident)
    /// Appends a mark, and reports its sequence with `ShardReader.appendedMark`.
    case appendMark
}
