import SheafBytes

/// A document whose stamps ahead of the clock are replaced.
///
/// The new stamps keep the order and are later than all others, so the visible content is the same.
/// The version vector also covers the old stamps, so peers replace the old dots.
///
/// Several stores may repair states of one document, even in the same millisecond. Each old stamp
/// has a site of its own, derived from it: all stores agree on the site, so increments are not
/// counted twice, and a new stamp never identifies two writes. With one site for all stamps of a
/// store, the new time would depend on which other dots a state has.
package struct RestampedDocument {
    package let bytes: [UInt8]
    /// The latest of the new times.
    package let latest: HybridTime
    /// Number of replaced stamps.
    package let count: Int

    /// Restamps a document; nil if none of its stamps is ahead.
    ///
    /// A document with more than `maximumSites` sites afterwards gets one new site for each old
    /// one and millisecond, derived from all replaced stamps. Two stores that replace different
    /// stamps of such a document then count increments twice.
    package init?(
        _ bytes: UnsafeRawBufferPointer, at wallMilliseconds: UInt64, _ names: NameTable,
        maximumSites: Int = EncodedDocument.maximumSites
    ) throws(DocumentError) {
        let (document, late, seen) = try onBytes { () throws(Malformed) in
            let document = try EncodedDocument(bytes)
            let late = try document.stamps(ahead: wallMilliseconds).sorted()
            return (document, late, try document.header().vector())
        }
        guard !late.isEmpty else { return nil }
        // A time in the next millisecond is later than all times that are not ahead.
        var clock = HybridClock(
            site: .initial,
            latest: HybridTime(
                milliseconds: wallMilliseconds, counter: HybridTime.maximumCounter))
        // Too many stamps for a site each share sites.
        let shared = late.count > maximumSites - seen.entries.count ? Self.hash(of: late) : nil
        var changed: [Stamp: Stamp] = [:]
        var added: [Site: HybridTime] = [:]
        for stamp in late {
            let time = try clock.next(at: wallMilliseconds).time
            let site =
                shared.map {
                    stamp.site.replacement(
                        inAll: $0, afterMilliseconds: time.milliseconds - wallMilliseconds)
                } ?? stamp.site.replacement(stamp.time)
            changed[stamp] = Stamp(time, site)
            added[site] = time
        }
        let entries = added.map { VersionVector.Entry(site: $0.key, time: $0.value) }
            .sorted { $0.site < $1.site }
        let vector = seen.joined(with: VersionVector(sorted: entries) ?? VersionVector())
        self.bytes = try onBytes { () throws(Malformed) in
            try Self.write(document, changed, vector, names)
        }
        latest = clock.latest
        count = late.count
    }

    private static func hash(of stamps: [Stamp]) -> UInt64 {
        var writer = ByteWriter(capacity: 16 * stamps.count)
        for stamp in stamps {
            writer.write(stamp.site.rawValue)
            writer.write(stamp.time.rawValue)
        }
        return writer.bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: 0) }
    }

    private static func write(
        _ document: EncodedDocument, _ changed: [Stamp: Stamp], _ vector: VersionVector,
        _ names: NameTable
    ) throws(Malformed) -> [UInt8] {
        let header = try document.header()
        let root = try header.rootStamp(readingTo: document.bytes.count)
        return try document.rewritten(
            from: names, to: names,
            CopySource(
                stamps: ChangedStamps(header: header, changed: changed),
                root: root.map { changed[$0] ?? $0 }),
            vector: vector, base: nil)
    }
}

/// The stamps of a document, with replacements.
private struct ChangedStamps: StampSource {
    let header: EncodedHeader
    let changed: [Stamp: Stamp]

    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp {
        let stamp = try header.stamp(reference)
        return changed[stamp] ?? stamp
    }
}

extension Site {
    /// Returns the next site of a store, derived from its unique site and a time.
    package func following(_ time: HybridTime) -> Site { derived(from: time, seed: 0) }

    /// Returns the site of the stamp that replaces this site's stamp of a time; same in all stores.
    func replacement(_ time: HybridTime) -> Site { derived(from: time, seed: 1) }

    /// Returns the site of stamps that replace those of this site, for a hash of all replaced ones.
    ///
    /// The replacing stamps fill the millisecond `afterMilliseconds` after the time of the repair,
    /// so two repairs use a site in disjoint ranges of time, or alike.
    func replacement(inAll stamps: UInt64, afterMilliseconds: UInt64) -> Site {
        derived(from: HybridTime(rawValue: stamps), seed: 5)
            .derived(from: HybridTime(rawValue: afterMilliseconds), seed: 6)
    }

    /// Returns the site for writes made and lost by this site in a pause; equal in all stores.
    ///
    /// Stores restored from the same backup have pauses with the same beginning.
    package func derivedSite(in pause: WritePause) -> Site {
        derived(from: pause.after, seed: 2).derived(from: pause.before, seed: 3)
    }

    /// Returns the site that records the removal of this site's sums from a counter; equal in all
    /// stores.
    ///
    /// This site is one of lost writes.
    package func removal(ofSumsAt path: [String], isOlder: Bool) -> Site {
        var names = ByteWriter(capacity: 64)
        names.write(UInt8(isOlder ? 1 : 0))
        for name in path {
            names.writeVarint(UInt64(name.utf8.count))
            names.write(Array(name.utf8))
        }
        return derived { number in
            var writer = ByteWriter(capacity: 8 + names.bytes.count)
            writer.write(number)
            writer.write(names.bytes)
            return writer.bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: 4) }
        }
    }

    private func derived(from time: HybridTime, seed: UInt64) -> Site {
        derived { number in
            withUnsafeBytes(of: (number.littleEndian, time.rawValue.littleEndian)) {
                XXH3.hash64($0, seed: seed)
            }
        }
    }

    private func derived(by hash: (UInt64) -> UInt64) -> Site {
        var number = rawValue
        repeat {
            number = hash(number)
        } while number == Site.initial.rawValue || number == EncodedDocument.evictionSite.rawValue
        return Site(rawValue: number)
    }
}
