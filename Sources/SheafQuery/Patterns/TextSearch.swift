#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Finds bytes in bytes, in time that is linear in both.
enum TextSearch {
    /// Where `needle` begins first in `text`, at `start` or behind it; nil where it does not.
    ///
    /// Most searches end soon by trying one place after the other. One that has cost more than
    /// a few bytes for each place goes on with a table (Knuth, Morris and Pratt).
    static func first(
        _ needle: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int = 0
    ) -> Int? {
        guard start <= text.count, needle.count <= text.count - start else { return nil }
        guard needle.count > 0, let base = text.baseAddress else { return start }
        let last = text.count - needle.count
        var place = start
        var budget = 8 * needle.count + 64
        while place <= last {
            guard let found = memchr(base + place, Int32(needle[0]), last - place + 1) else {
                return nil
            }
            let candidate = base.distance(to: UnsafeRawPointer(found))
            budget += 2 * (candidate - place + 1)
            place = candidate
            let same = common(needle, text, at: place)
            if same == needle.count { return place }
            budget -= same + 1
            if budget < 0 { return firstWithTable(needle, in: text, from: place) }
            place += 1
        }
        return nil
    }

    /// How many of the first bytes of `needle` stand at `place`, where all of it has room.
    @inline(__always)
    private static func common(
        _ needle: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, at place: Int
    ) -> Int {
        var index = 1
        while index < needle.count, needle[index] == text[place + index] { index += 1 }
        return index
    }

    private static func firstWithTable(
        _ needle: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int
    ) -> Int? {
        // borders[i]: the longest proper prefix of the first i + 1 bytes that is their suffix, too.
        withUnsafeTemporaryAllocation(of: Int.self, capacity: needle.count) { borders in
            borders.initialize(repeating: 0)
            var border = 0
            for index in 1..<needle.count {
                while border > 0, needle[index] != needle[border] { border = borders[border - 1] }
                if needle[index] == needle[border] { border += 1 }
                borders[index] = border
            }
            var matched = 0
            for offset in start..<text.count {
                while matched > 0, text[offset] != needle[matched] {
                    matched = borders[matched - 1]
                }
                if text[offset] == needle[matched] { matched += 1 }
                if matched == needle.count { return offset + 1 - matched }
            }
            return nil
        }
    }

    /// True where all of `part` stands at `offset` of `text`.
    @inline(__always)
    static func stands(
        _ part: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, at offset: Int
    ) -> Bool {
        guard offset >= 0, offset <= text.count, part.count <= text.count - offset else {
            return false
        }
        guard let left = part.baseAddress, let right = text.baseAddress else { return true }
        return memcmp(left, right + offset, part.count) == 0
    }
}
