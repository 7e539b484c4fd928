package import SheafBytes

/// An encoder of documents: the header, then the entries.
enum DocumentWriter {
    /// Encodes a document whose root entry is written by `body`.
    ///
    /// Calls `body` again with wider references if the stamps exceed the range of the references.
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
            let document = assemble(
                &writer, base: base, deletion: deletion, isPartial: isPartial)
            guard document.count <= EncodedDocument.maximumLength else {
                throw .tooLong(
                    at: 0, length: UInt64(document.count),
                    limit: UInt64(EncodedDocument.maximumLength))
            }
            return document
        }
    }

    /// Returns the document with the entries of a writer.
    static func assemble(
        _ writer: inout EntryWriter, base: VersionVector?, deletion: Stamp?, isPartial: Bool
    ) -> [UInt8] {
        let sites = writer.stamps.vector.entries
        // A base without any of these sites is omitted.
        let base = base.flatMap { base in
            sites.allSatisfy { base.time(of: $0.site) == .initial } ? nil : base
        }
        let baseCount = base.map { base in sites.count { base.time(of: $0.site) < $0.time } } ?? 0
        let olderCount = writer.stamps.olderCount
        let entriesLength =
            sites.count * EncodedHeader.siteLength
            + (baseCount + olderCount + (deletion == nil ? 0 : 1)) * EncodedHeader.stampLength
        let narrowLength = 3 + (base == nil ? 0 : 1) + entriesLength
        let isWide = narrowLength > 0xFF
        let length = isWide ? 9 + (base == nil ? 0 : 4) + entriesLength : narrowLength
        var flags: UInt8 = 0
        if isPartial { flags |= HeaderBits.partial }
        if base != nil { flags |= HeaderBits.base }
        if deletion != nil { flags |= HeaderBits.deletion }
        if isWide { flags |= HeaderBits.wideNumbers }
        flags |= UInt8(writer.referenceWidth.trailingZeroBitCount) << 4

        // The header depends on the entries, so it is written after them, and they are repeated.
        let bodyLength = writer.count
        writer.buffer.reserve(length + bodyLength)
        writer.buffer.append(flags)
        writer.append(number: length, isWide: isWide)
        writer.append(number: sites.count, isWide: isWide)
        for entry in sites {
            writer.append(entry.site.rawValue)
            writer.append(entry.time.rawValue)
        }
        if let base {
            writer.append(number: baseCount, isWide: isWide)
            for (index, entry) in sites.enumerated() {
                let time = base.time(of: entry.site)
                if time < entry.time { writer.append(index: index, time) }
            }
        }
        if let deletion { writer.append(deletion) }
        if olderCount > 0 {
            // The stamps are read while the writer is changed.
            let stamps = writer.stamps
            stamps.forEachOlder { writer.append($0) }
        }
        writer.buffer.append(copyOf: 0..<bodyLength)
        let document = Array(UnsafeRawBufferPointer(rebasing: writer.bytes[bodyLength...]))
        withExtendedLifetime(writer) {}
        return document
    }
}

/// Fields of the header.
extension EntryWriter {
    fileprivate mutating func append(number: Int, isWide: Bool) {
        if isWide {
            buffer.append(UInt32(number))
        } else {
            buffer.append(UInt8(number))
        }
    }

    fileprivate mutating func append(index: Int, _ time: HybridTime) {
        buffer.append(UInt16(index))
        buffer.append(time.rawValue)
    }

    fileprivate mutating func append(_ stamp: Stamp) {
        append(index: stamps.vector.index(of: stamp.site) ?? 0, stamp.time)
    }
}

extension EntryWriter {
    /// Writes the root entry with its latest mark, all other marks, and its fields.
    mutating func writeRoot(
        mark: Stamp?, others: ArraySlice<Stamp> = [], isPartial: Bool,
        _ writeFields: (inout EntryWriter) throws(Malformed) -> Int
    ) throws(Malformed) {
        rootStamp = mark
        let start = count
        if !others.isEmpty { write(.several) }
        let entryStart = count
        if let mark {
            writeReferring(.map, to: mark)
        } else {
            write(.bareMap)
        }
        let fieldCount = try writeFields(&self)
        if mark == nil, fieldCount == 0, !isPartial {
            truncate(to: start)
            return write(.noRoot)
        }
        guard !others.isEmpty else { return }
        prependLength(at: entryStart)
        for mark in others {
            let start = count
            writeReferring(.mark, to: mark)
            prependLength(at: start)
        }
    }
}

extension EncodedDocument {
    /// Returns the document with another base, or with none.
    package func settingBase(_ base: VersionVector?) throws(Malformed) -> [UInt8] {
        let header = try header()
        let older = try (0..<header.olderCount).map { (index) throws(Malformed) in
            try header.stamp(UInt32(header.siteCount + index))
        }
        var writer = EntryWriter(
            stamps: StampTable(try header.vector(), older: older),
            referenceWidth: referenceWidth, capacity: bytes.count + 16)
        writer.write(UnsafeRawBufferPointer(rebasing: bytes[rootStart...]))
        return DocumentWriter.assemble(
            &writer, base: base, deletion: try header.deletion(), isPartial: isPartial)
    }
}
