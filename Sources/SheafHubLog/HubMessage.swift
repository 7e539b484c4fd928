package import SheafBytes
package import SheafDocument

/// A message in an entry of a hub log (`format-spec/hub.md`, table 1).
package struct HubMessage: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        /// A group of documents, or a part of one.
        case documents = 1
        /// Nothing but the progress of its author, which finds it again in the log.
        case mark = 2
    }

    /// The position of a message in its group, and what the group replaces.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The group continues in the next message of the author.
        package static let isContinued = Flags(rawValue: 1)
        /// The message continues a group.
        package static let continues = Flags(rawValue: 2)
        /// The documents replace messages that were lost.
        package static let replaces = Flags(rawValue: 4)
    }

    /// The commits of the author, or the lost messages, that a group covers.
    package struct Extent: Hashable, Sendable {
        /// The group has the changes of the commits after this one; with `replaces`, the sequence
        /// of the first replaced message.
        package let base: UInt64
        /// The last commit; with `replaces`, the sequence of the last replaced message.
        package let commit: UInt64

        package init(base: UInt64, commit: UInt64) {
            self.base = base
            self.commit = commit
        }
    }

    package let kind: Kind
    package let flags: Flags
    package let shard: UInt16
    /// Number of messages of the author directly before this one that it did not know to be stored.
    package let unconfirmed: UInt16
    package let log: HubLogID
    package let author: HubAuthor
    /// Number of the message among those of its author in the shard, from 1.
    package let sequence: UInt64
    /// Checksum of the author's previous message in the shard; 0 for the first one.
    package let previous: UInt64
    package let progress: ShardProgress
    package let extent: Extent
    /// A part of a group; empty in a mark.
    package let payload: [UInt8]

    package init(
        _ kind: Kind, _ flags: Flags = [], shard: UInt16, unconfirmed: UInt16, log: HubLogID,
        author: HubAuthor, sequence: UInt64, previous: UInt64, progress: ShardProgress,
        extent: Extent, payload: [UInt8] = []
    ) {
        precondition(
            payload.count <= HubLimits.messageLength - Layout.overhead,
            "A message has at most \(HubLimits.messageLength) bytes.")
        precondition(
            UInt64(unconfirmed) < sequence, "Only messages before this one can be unconfirmed.")
        self.kind = kind
        self.flags = flags
        self.shard = shard
        self.unconfirmed = unconfirmed
        self.log = log
        self.author = author
        self.sequence = sequence
        self.previous = previous
        self.progress = progress
        self.extent = extent
        self.payload = payload
    }

    /// Offsets of the fields that are not read in order, and lengths (table 1).
    enum Layout {
        static let version = 4
        static let header = 112
        static let checksum = 8
        static let overhead = header + checksum
    }

    package static let version: UInt8 = 1
}

/// The id under which an engine stores a message once.
package struct HubMessageID: Hashable, Sendable {
    package let author: HubAuthor
    package let shard: UInt16
    package let sequence: UInt64
    package let checksum: UInt64

    package init(author: HubAuthor, shard: UInt16, sequence: UInt64, checksum: UInt64) {
        self.author = author
        self.shard = shard
        self.sequence = sequence
        self.checksum = checksum
    }

    /// The opening, shard, sequence and checksum as hexadecimal digits.
    ///
    /// The checksum prevents that an engine confirms other bytes as a repetition.
    package var text: String {
        [author.opening, UInt64(shard), sequence, checksum].map { String($0, radix: 16) }
            .joined(separator: "-")
    }
}

/// The reason why bytes are no message of a log that this version reads.
package enum HubMessageError: Error, Equatable, Sendable {
    /// The checksum does not match: the bytes were changed, or are of another log.
    case checksum(found: UInt64, computed: UInt64)
    /// An intact message in the format of a newer version.
    case newerVersion(UInt8)
    /// The bytes do not decode.
    case malformed(Malformed)
}

extension HubMessageError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .checksum(let found, let computed):
            "the checksum of a message is \(String(found, radix: 16)), and that of its bytes "
                + "\(String(computed, radix: 16))"
        case .newerVersion(let version):
            "a message of version \(version); this version reads \(HubMessage.version)"
        case .malformed(let reason): "malformed message: \(reason)"
        }
    }
}
