package import SheafBytes
package import SheafDocument

/// The version vectors of documents that commits changed (`format-spec/sync.md`, table 16).
///
/// A sender announces commits that the receiver mostly has from other peers already.
package struct Announce: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let address: DocumentAddress
        package let vector: VersionVector

        package init(address: DocumentAddress, vector: VersionVector) {
            self.address = address
            self.vector = vector
        }

        /// Approximate size in memory, in bytes.
        package var length: Int {
            128 + address.id.count + address.collection.utf8.count + vector.entries.count * 16
        }
    }

    package let generation: UInt64
    /// The last announced commit.
    package let commit: UInt64
    package let entries: [Entry]

    package init(generation: UInt64, commit: UInt64, _ entries: [Entry]) {
        self.generation = generation
        self.commit = commit
        self.entries = entries
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.writeVarint(generation)
        writer.writeVarint(commit)
        writer.write(entries.map(\.address))
        for entry in entries {
            writer.writeVarint(UInt64(entry.vector.entries.count))
            for seen in entry.vector.entries {
                writer.write(seen.site.rawValue)
                writer.write(seen.time.rawValue)
            }
        }
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        generation = try reader.readVarint()
        commit = try reader.readVarint()
        var entries: [Entry] = []
        for address in try reader.readAddresses() {
            let start = reader.offset
            var seen: [VersionVector.Entry] = []
            // Each entry takes bytes, so an exaggerated count ends in a truncation error.
            for _ in 0..<(try reader.readVarint()) {
                let site = Site(rawValue: try reader.readUInt64())
                let time = HybridTime(rawValue: try reader.readUInt64())
                seen.append(VersionVector.Entry(site: site, time: time))
            }
            guard let vector = VersionVector(sorted: seen) else {
                throw .invalid("sites out of order", at: start)
            }
            entries.append(Entry(address: address, vector: vector))
        }
        self.entries = entries
        try reader.checkEnd()
    }
}
