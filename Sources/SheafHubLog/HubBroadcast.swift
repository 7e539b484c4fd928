import SheafBytes
package import SheafDocument
package import SheafSync

/// A message from one hub to all, which may be lost or repeated (`format-spec/hub.md`, table 7).
package struct HubBroadcast: Equatable, Sendable {
    /// The progress of a hub in a shard that it reads.
    package struct ReadShard: Equatable, Sendable {
        package let shard: UInt16
        package let progress: ShardProgress

        package init(shard: UInt16, progress: ShardProgress) {
            self.shard = shard
            self.progress = progress
        }
    }

    /// The state of a live hub.
    package struct Beat: Equatable, Sendable {
        package var isDraining: Bool
        package var isReady: Bool
        /// Versions of messages that the hub reads.
        package var versions: ClosedRange<UInt8>
        package var wallMilliseconds: UInt64
        package var clientCount: UInt64
        /// Addresses on which it accepts connections of hubs.
        package var addresses: [PeerRecord.Address]
        /// The shards that it reads, in ascending order.
        package var shards: [ReadShard]

        package init(
            isDraining: Bool = false, isReady: Bool, versions: ClosedRange<UInt8>,
            wallMilliseconds: UInt64, clientCount: UInt64, addresses: [PeerRecord.Address],
            shards: [ReadShard]
        ) {
            self.isDraining = isDraining
            self.isReady = isReady
            self.versions = versions
            self.wallMilliseconds = wallMilliseconds
            self.clientCount = clientCount
            self.addresses = addresses
            self.shards = shards
        }
    }

    package enum Contents: Equatable, Sendable {
        case beat(Beat)
        /// Records of the hub and its clients.
        case presence(PresenceMessage)
        /// Messages of an author that a reader lacks; the ranges ascend.
        case need(shard: UInt16, HubAuthor, [ClosedRange<UInt64>])
        case incident(ShardIncident, shard: UInt16)
    }

    package let log: HubLogID
    /// The key of the sending hub.
    package let hub: [UInt8]
    package let author: HubAuthor
    package let contents: Contents

    package init(log: HubLogID, hub: [UInt8], author: HubAuthor, _ contents: Contents) {
        precondition(hub.count == Hello.peerKeyLength, "A key has 32 bytes.")
        self.log = log
        self.hub = hub
        self.author = author
        self.contents = contents
    }
}

/// A contradiction between a shard and what its reader has seen, which needs a new log.
package struct ShardIncident: Hashable, Sendable {
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// Two readers, or two messages of an author, contradict each other.
        case fork = 1
        /// Entries that existed are gone, or have other contents.
        case truncation = 2
        /// Messages are missing, and nothing has replaced them.
        case loss = 3
        /// The engine does not show entries that others have read.
        case staleEngine = 4
    }

    package let kind: Kind
    /// The number of the entry at which it was found.
    package let entry: UInt64
    /// The digest of the reader at that entry, and the other one; 0 where there is none.
    package let digest: UInt64
    package let otherDigest: UInt64

    package init(_ kind: Kind, entry: UInt64, digest: UInt64 = 0, otherDigest: UInt64 = 0) {
        self.kind = kind
        self.entry = entry
        self.digest = digest
        self.otherDigest = otherDigest
    }
}
