package import SheafBytes

/// Puts the header before the entries of a document.
enum DocumentWriter {
    /// Writes a document: `body` writes the root entry.
    ///
    /// It is called again, with wider references, where there turn out to be more stamps than
    /// references can name.
    static func write(
        vector: VersionVector, base: VersionVector?, deletion: Stamp?, isPartial: Bool,
        capacity: Int, body: (inout EntryWriter) throws(Malformed) -> Void
    ) throws(Malformed) -> [UInt8] {
        guard vector.entries.count <= EncodedDocument.maximumSites else {
            throw .tooLong(
                at: 0, length: UInt64(vector.entries.count),
                limit: UInt64(EncodedDocument.maximumSites))
        }
        var width = StampTable.width(forCount: vector.entries.count)
        while true {
            var writer = EntryWriter(
                stamps: StampTable(vector), referenceWidth: width, capacity: capacity)
            try body(&writer)
            if writer.hasOverflown {
                width = StampTable.width(forCount: writer.stamps.count)
                continue
            }
            let document = writer.bytes.withUnsafeBytes { body in
                assemble(
                    vector: vector, base: base, deletion: deletion,
                    older: writer.stamps.older, isPartial: isPartial, referenceWidth: width,
                    body: body)
            }
            guard document.count <= EncodedDocument.maximumLength else {
                throw .tooLong(
                    at: 0, length: UInt64(document.count),
                    limit: UInt64(EncodedDocument.maximumLength))
            }
            return document
        }
    }

    fileprivate static func assemble(
        vector: VersionVector, base: VersionVector?, deletion: Stamp?, older: [Stamp],
        isPartial: Bool, referenceWidth: Int, body: UnsafeRawBufferPointer
    ) -> [UInt8] {
        let sites = vector.entries
        // To have seen nothing is not worth saying.
        let base = base.flatMap { $0.entries.isEmpty ? nil : $0 }
        let bases = base.map { differences(from: $0, in: sites) } ?? []
        let entriesLength =
            sites.count * EncodedHeader.siteLength
            + (bases.count + older.count + (deletion == nil ? 0 : 1)) * EncodedHeader.stampLength
        let narrowLength = 3 + (base == nil ? 0 : 1) + entriesLength
        let isWide = narrowLength > 0xFF
        let length = isWide ? 9 + (base == nil ? 0 : 4) + entriesLength : narrowLength
        var flags: UInt8 = 0
        if isPartial { flags |= HeaderBits.partial }
        if base != nil { flags |= HeaderBits.base }
        if deletion != nil { flags |= HeaderBits.deletion }
        if isWide { flags |= HeaderBits.wideNumbers }
        flags |= UInt8(referenceWidth.trailingZeroBitCount) << 4

        var header = ByteWriter(capacity: length + body.count)
        func writeNumber(_ number: Int) {
            if isWide {
                header.write(UInt32(number))
            } else {
                header.write(UInt8(number))
            }
        }
        func write(index: Int, _ time: HybridTime) {
            header.write(UInt16(index))
            header.write(time.rawValue)
        }
        func write(_ stamp: Stamp) {
            write(index: vector.index(of: stamp.site) ?? 0, stamp.time)
        }
        header.write(flags)
        writeNumber(length)
        writeNumber(sites.count)
        for entry in sites {
            header.write(entry.site.rawValue)
            header.write(entry.time.rawValue)
        }
        if base != nil {
            writeNumber(bases.count)
            for (index, time) in bases { write(index: index, time) }
        }
        if let deletion { write(deletion) }
        for stamp in older { write(stamp) }
        header.write(body)
        return header.bytes
    }

    /// The sites of which a base has seen less, and how much.
    private static func differences(
        from base: VersionVector, in sites: [VersionVector.Entry]
    ) -> [(index: Int, time: HybridTime)] {
        var differences: [(index: Int, time: HybridTime)] = []
        for (index, entry) in sites.enumerated() {
            let time = base.time(of: entry.site)
            if time < entry.time { differences.append((index, time)) }
        }
        return differences
    }
}

extension EntryWriter {
    /// Writes the root entry, with its marks and its fields; `writeFields` tells how many they are.
    mutating func writeRoot(
        marks: [Dot], isPartial: Bool,
        _ writeFields: (inout EntryWriter) throws(Malformed) -> Int
    ) throws(Malformed) {
        let marks = marks.sorted { $0.stamp > $1.stamp }
        rootStamp = marks.first?.stamp
        let start = count
        if marks.count > 1 { write(.several) }
        let entryStart = count
        if let mark = marks.first {
            writeReferring(.map, to: mark.stamp)
        } else {
            write(.bareMap)
        }
        let fieldCount = try writeFields(&self)
        if marks.isEmpty, fieldCount == 0, !isPartial {
            truncate(to: start)
            return write(.noRoot)
        }
        guard marks.count > 1 else { return }
        prependLength(at: entryStart)
        for mark in marks.dropFirst() {
            let start = count
            writeReferring(.mark, to: mark.stamp)
            prependLength(at: start)
        }
    }
}

extension EncodedDocument {
    /// The same document, with another base or none.
    package func settingBase(_ base: VersionVector?) throws(Malformed) -> [UInt8] {
        let header = try header()
        return DocumentWriter.assemble(
            vector: try header.vector(), base: base, deletion: try header.deletion(),
            older: try (0..<header.olderCount).map { (index) throws(Malformed) in
                try header.stamp(UInt32(header.siteCount + index))
            }, isPartial: isPartial, referenceWidth: referenceWidth,
            body: UnsafeRawBufferPointer(rebasing: bytes[rootStart...]))
    }
}
