package import SheafBytes
package import SheafDocument

extension DocumentAddress {
    /// The address as encoded in version lists, which are sorted by these bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: collection.utf8.count + id.count + 2)
        writer.writeText(collection)
        writer.write(id)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        let collection = try reader.readText(limit: SyncLimits.collectionLength)
        guard reader.remaining > 0, reader.remaining <= SyncLimits.idLength else {
            throw .invalid("an id of \(reader.remaining) bytes", at: reader.offset)
        }
        self.init(collection: collection, id: Array(try reader.readBytes(reader.remaining)))
    }

    package init(decoding bytes: [UInt8]) throws(Malformed) {
        self = try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try DocumentAddress(decoding: bytes)
        }
    }
}

extension ByteWriter {
    /// Writes the number of addresses, then the addresses.
    ///
    /// The prefix that an id shares with the previous one is omitted.
    package mutating func write(_ addresses: [DocumentAddress]) {
        writeVarint(UInt64(addresses.count))
        var last: DocumentAddress?
        for address in addresses {
            var shared = 0
            if let last, address.isOf(last.collection) {
                let most = min(last.id.count, address.id.count - 1, SyncLimits.sharedIDLength)
                while shared < most, last.id[shared] == address.id[shared] { shared += 1 }
                write(UInt8(1 + shared))
            } else {
                write(UInt8(0))
                writeText(address.collection)
            }
            last = address
            writeVarint(UInt64(address.id.count - shared))
            write(Array(address.id[shared...]))
        }
    }
}

extension ByteReader {
    /// Reads the number of addresses, then the addresses.
    mutating func readAddresses() throws(Malformed) -> [DocumentAddress] {
        let count = try readVarint()
        var addresses: [DocumentAddress] = []
        // Each address takes bytes, so an exaggerated count ends in a truncation error.
        for _ in 0..<count {
            let start = offset
            let collection: String
            var id: [UInt8] = []
            switch (Int(try readUInt8()), addresses.last) {
            case (0, let last):
                collection = try readText(limit: SyncLimits.collectionLength)
                guard last?.isOf(collection) != true else {
                    throw .invalid("a repeated collection name", at: start)
                }
            case (let byte, let last?):
                guard byte - 1 <= min(last.id.count, SyncLimits.sharedIDLength) else {
                    throw .unexpected(UInt8(byte), at: start)
                }
                collection = last.collection
                id += last.id[..<(byte - 1)]
            case (_, nil): throw .invalid("a first document without a collection", at: start)
            }
            let rest = try readLengthPrefixed(limit: SyncLimits.idLength - id.count)
            guard !rest.isEmpty else { throw .invalid("an id without bytes of its own", at: start) }
            id += rest
            addresses.append(DocumentAddress(collection: collection, id: id))
        }
        return addresses
    }
}
