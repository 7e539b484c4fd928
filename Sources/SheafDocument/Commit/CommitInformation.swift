package import SheafBytes

/// What there is to know of a commit besides its documents (`format-spec/commits.md`, table 2).
package struct CommitInformation: Hashable, Sendable {
    /// Where a commit came from.
    package enum Origin: Hashable, Sendable {
        case local
        /// From a peer, where it had this number.
        case peer(Site, commit: UInt64)
    }

    /// The latest time that the store had written with or seen.
    package var clock: HybridTime
    /// When and by whom it was written first.
    package var stamp: Stamp
    package var origin: Origin

    /// A commit that is written here, now.
    package init(local stamp: Stamp) {
        clock = stamp.time
        self.stamp = stamp
        origin = .local
    }

    package init(clock: HybridTime, stamp: Stamp, from peer: Site, commit: UInt64) {
        self.clock = clock
        self.stamp = stamp
        origin = .peer(peer, commit: commit)
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        let kind = try reader.readUInt8()
        clock = HybridTime(rawValue: try reader.readUInt64())
        let site = Site(rawValue: try reader.readUInt64())
        switch kind {
        case 0:
            stamp = Stamp(clock, site)
            origin = .local
        case 1:
            stamp = Stamp(HybridTime(rawValue: try reader.readUInt64()), site)
            let peer = Site(rawValue: try reader.readUInt64())
            origin = .peer(peer, commit: try reader.readVarint())
        default: throw .unexpected(kind, at: 0)
        }
        guard reader.remaining == 0 else {
            throw .invalid("something behind the information", at: reader.offset)
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 43)
        switch origin {
        case .local:
            writer.write(UInt8(0))
            writer.write(clock.rawValue)
            writer.write(stamp.site.rawValue)
        case .peer(let peer, let commit):
            writer.write(UInt8(1))
            writer.write(clock.rawValue)
            writer.write(stamp.site.rawValue)
            writer.write(stamp.time.rawValue)
            writer.write(peer.rawValue)
            writer.writeVarint(commit)
        }
        return writer.bytes
    }
}
