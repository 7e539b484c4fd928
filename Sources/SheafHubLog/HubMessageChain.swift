import SheafBytes
package import SheafDocument

/// The messages of one author in one shard, each of which names the checksum of the one before.
package struct HubMessageChain: Sendable {
    /// A message as it is appended, and the id under which an engine stores it once.
    package struct Encoded: Equatable, Sendable {
        package let id: HubMessageID
        package let bytes: [UInt8]
    }

    package let log: HubLogID
    package let shard: UInt16
    package let author: HubAuthor
    /// The sequence of the last message; 0 before the first one.
    package private(set) var sequence: UInt64 = 0
    private var checksum: UInt64 = 0
    /// The sequence up to which all messages are known to be stored.
    package private(set) var confirmed: UInt64 = 0
    /// Later messages that are known to be stored.
    private var confirmedLater: Set<UInt64> = []

    /// Maximum number of messages before another one that are not known to be stored.
    package static let maximumUnconfirmed = Int(UInt16.max)

    package init(log: HubLogID, shard: UInt16, author: HubAuthor) {
        self.log = log
        self.shard = shard
        self.author = author
    }

    /// Number of the last messages that are not known to be stored.
    ///
    /// No message may follow more than `maximumUnconfirmed` ones, those of its group included.
    package var unconfirmedCount: Int { Int(sequence - confirmed) }

    /// Records that messages are stored, or that other ones replace them which are stored.
    package mutating func confirm(_ sequences: ClosedRange<UInt64>) {
        precondition(sequences.upperBound <= sequence, "Only messages of the chain are stored.")
        guard sequences.upperBound > confirmed else { return }
        confirmedLater.formUnion(max(sequences.lowerBound, confirmed + 1)...sequences.upperBound)
        while confirmedLater.remove(confirmed + 1) != nil { confirmed += 1 }
    }

    /// Returns a mark.
    package mutating func mark(_ progress: ShardProgress, commit: UInt64) -> Encoded {
        next(.mark, [], progress, HubMessage.Extent(base: commit, commit: commit), [])
    }

    /// Returns the messages of a group of documents.
    ///
    /// - Parameter payload: The bytes of `HubGroupWriter`.
    /// - Parameter replaces: Whether the extent names lost messages, which the group replaces.
    package mutating func messages(
        of payload: [UInt8], _ extent: HubMessage.Extent, replaces: Bool = false,
        _ progress: ShardProgress, length: Int = HubLimits.messagePayloadLength
    ) -> [Encoded] {
        precondition(!payload.isEmpty, "A group has at least one segment.")
        // The maximum number of messages makes those of very long groups longer.
        let needed = (payload.count + HubLimits.groupMessages - 1) / HubLimits.groupMessages
        let length = max(length, needed)
        var messages: [Encoded] = []
        var start = 0
        while start < payload.count {
            let end = min(start + length, payload.count)
            var flags: HubMessage.Flags = replaces ? .replaces : []
            if start > 0 { flags.insert(.continues) }
            if end < payload.count { flags.insert(.isContinued) }
            messages.append(
                next(.documents, flags, progress, extent, Array(payload[start..<end])))
            start = end
        }
        return messages
    }

    private mutating func next(
        _ kind: HubMessage.Kind, _ flags: HubMessage.Flags, _ progress: ShardProgress,
        _ extent: HubMessage.Extent, _ payload: [UInt8]
    ) -> Encoded {
        precondition(
            unconfirmedCount <= Self.maximumUnconfirmed,
            "A message follows at most \(Self.maximumUnconfirmed) unconfirmed ones.")
        let unconfirmed = UInt16(unconfirmedCount)
        sequence += 1
        let message = HubMessage(
            kind, flags, shard: shard, unconfirmed: unconfirmed, log: log, author: author,
            sequence: sequence, previous: checksum, progress: progress, extent: extent,
            payload: payload)
        let encoded = message.encoded
        checksum = encoded.checksum
        let id = HubMessageID(
            author: author, shard: shard, sequence: sequence, checksum: encoded.checksum)
        return Encoded(id: id, bytes: encoded.bytes)
    }
}
