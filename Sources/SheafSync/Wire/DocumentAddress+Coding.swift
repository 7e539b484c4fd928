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
    package mutating func write(_ addresses: [DocumentAddress]) {
        writeVarint(UInt64(addresses.count))
        var collection: String?
        for address in addresses {
            let isSame = address.isOf(collection)
            write(UInt8(isSame ? 1 : 0))
            if !isSame { writeText(address.collection) }
            collection = address.collection
            writeVarint(UInt64(address.id.count))
            write(address.id)
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
            switch (try readUInt8(), addresses.last?.collection) {
            case (0, let last):
                collection = try readText(limit: SyncLimits.collectionLength)
                guard
                    collection.utf8.count != last?.utf8.count
                        || Array(collection.utf8) != last.map({ Array($0.utf8) })
                else { throw .invalid("a repeated collection name", at: start) }
            case (1, let last?): collection = last
            case (1, nil): throw .invalid("a first document without a collection", at: start)
            case (let byte, _): throw .unexpected(byte, at: start)
            }
            let id = Array(try readLengthPrefixed(limit: SyncLimits.idLength))
            guard !id.isEmpty else { throw .invalid("an empty id", at: start) }
            addresses.append(DocumentAddress(collection: collection, id: id))
        }
        return addresses
    }

    /// Throws if bytes remain after the last field.
    func checkEnd() throws(Malformed) {
        guard remaining == 0 else { throw .invalid("bytes after the last field", at: offset) }
    }
}
