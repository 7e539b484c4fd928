package import SheafBytes

/// The origin of a replicated commit (`format-spec/commits.md`, table 2).
package struct CommitOrigin: Hashable, Sendable {
    /// The stamp of the original commit.
    package let stamp: Stamp
    /// The site of the peer that sent the commit, and its commit ID there.
    package let peer: Site
    package let commit: UInt64

    package init(stamp: Stamp, peer: Site, commit: UInt64) {
        self.stamp = stamp
        self.peer = peer
        self.commit = commit
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        let site = Site(rawValue: try reader.readUInt64())
        stamp = Stamp(HybridTime(rawValue: try reader.readUInt64()), site)
        peer = Site(rawValue: try reader.readUInt64())
        commit = try reader.readVarint()
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the origin", at: reader.offset)
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 34)
        writer.write(stamp.site.rawValue)
        writer.write(stamp.time.rawValue)
        writer.write(peer.rawValue)
        writer.writeVarint(commit)
        return writer.bytes
    }
}
