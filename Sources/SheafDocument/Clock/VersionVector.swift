import SheafBytes

/// A version vector: the newest time of each site, which covers all earlier writes of the site.
package struct VersionVector: Hashable, Sendable {
    /// A site, and its newest time.
    package struct Entry: Hashable, Sendable {
        package let site: Site
        package var time: HybridTime

        package init(site: Site, time: HybridTime) {
            self.site = site
            self.time = time
        }
    }

    /// The entries in ascending order of site, without duplicates.
    package private(set) var entries: [Entry] = []

    /// Creates an empty version vector.
    package init() {}

    /// Creates a version vector with one write.
    package init(_ stamp: Stamp) {
        entries = [Entry(site: stamp.site, time: stamp.time)]
    }

    /// Creates a version vector from entries; nil if their sites are not ascending.
    package init?(sorted entries: [Entry]) {
        for index in entries.indices.dropFirst()
        where entries[index - 1].site >= entries[index].site {
            return nil
        }
        self.entries = entries
    }

    /// Hash of the sites and times, eight bytes each.
    package var hash: UInt64 {
        var writer = ByteWriter(capacity: 16 * entries.count)
        for entry in entries {
            writer.write(entry.site.rawValue)
            writer.write(entry.time.rawValue)
        }
        return writer.bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: 0) }
    }

    /// Whether the write is covered.
    package func covers(_ stamp: Stamp) -> Bool {
        let index = position(of: stamp.site)
        return index < entries.count && entries[index].site == stamp.site
            && stamp.time <= entries[index].time
    }

    /// Whether all writes that `other` covers are covered.
    package func covers(_ other: VersionVector) -> Bool {
        var index = 0
        for entry in other.entries {
            while index < entries.count, entries[index].site < entry.site { index += 1 }
            guard index < entries.count, entries[index].site == entry.site,
                entry.time <= entries[index].time
            else { return false }
        }
        return true
    }

    /// Returns the newest time of a site, or `.initial` if it has none.
    package func time(of site: Site) -> HybridTime {
        let index = position(of: site)
        return index < entries.count && entries[index].site == site
            ? entries[index].time : .initial
    }

    /// Returns the intersection of two version vectors.
    func intersection(by other: VersionVector) -> VersionVector {
        var met = VersionVector()
        for entry in entries {
            let time = min(entry.time, other.time(of: entry.site))
            if time > .initial { met.entries.append(Entry(site: entry.site, time: time)) }
        }
        return met
    }

    /// Records a write, which covers all earlier writes of its site.
    package mutating func record(_ stamp: Stamp) {
        let index = position(of: stamp.site)
        guard index < entries.count else {
            return entries.append(Entry(site: stamp.site, time: stamp.time))
        }
        guard entries[index].site == stamp.site else {
            return entries.insert(Entry(site: stamp.site, time: stamp.time), at: index)
        }
        entries[index].time = max(entries[index].time, stamp.time)
    }

    /// Returns the union of two version vectors.
    package func joined(with other: VersionVector) -> VersionVector {
        guard self != other else { return self }
        var joined = VersionVector()
        joined.entries.reserveCapacity(max(entries.count, other.entries.count))
        var (left, right) = (entries[...], other.entries[...])
        while let first = left.first, let second = right.first {
            if first.site < second.site {
                joined.entries.append(left.removeFirst())
            } else if second.site < first.site {
                joined.entries.append(right.removeFirst())
            } else {
                joined.entries.append(first.time < second.time ? second : first)
                left.removeFirst()
                right.removeFirst()
            }
        }
        joined.entries += left + right
        return joined
    }

    /// The latest time of all sites; `.initial` for an empty vector.
    package var latest: HybridTime {
        entries.reduce(.initial) { max($0, $1.time) }
    }

    /// Returns the index of the entry of a site.
    func index(of site: Site) -> Int? {
        let index = position(of: site)
        return index < entries.count && entries[index].site == site ? index : nil
    }

    /// Returns the index of the first entry with a site not less than `site`.
    private func position(of site: Site) -> Int {
        // Most vectors are short, and a linear search is faster.
        if entries.count <= 8 { return entries.firstIndex { $0.site >= site } ?? entries.count }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].site < site { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
