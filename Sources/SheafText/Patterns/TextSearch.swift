#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Substring search in linear time.
package enum TextSearch {
    /// Returns the first position of `needle` at or after `start`, or nil.
    ///
    /// The search compares position by position. If that becomes expensive, it continues with a
    /// table (Knuth, Morris and Pratt).
    package static func first(
        _ needle: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int = 0
    ) -> Int? {
        guard start <= text.count, needle.count <= text.count - start else { return nil }
        guard needle.count > 0, let base = text.baseAddress else { return start }
        let last = text.count - needle.count
        var position = start
        var budget = 8 * needle.count + 64
        while position <= last {
            guard let found = memchr(base + position, Int32(needle[0]), last - position + 1) else {
                return nil
            }
            let candidate = base.distance(to: UnsafeRawPointer(found))
            budget += 2 * (candidate - position + 1)
            position = candidate
            let same = common(needle, text, at: position)
            if same == needle.count { return position }
            budget -= same + 1
            if budget < 0 { return firstWithTable(needle, in: text, from: position) }
            position += 1
        }
        return nil
    }

    /// Returns the common prefix length of `needle` and the text at `position`, at least one.
    @inline(__always)
    private static func common(
        _ needle: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, at position: Int
    ) -> Int {
        var index = 1
        while index < needle.count, needle[index] == text[position + index] { index += 1 }
        return index
    }

    private static func firstWithTable(
        _ needle: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int
    ) -> Int? {
        // borders[i]: length of the longest proper prefix and suffix of the first i + 1 bytes.
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

    /// Whether `part` occurs at `offset` of the text.
    @inline(__always)
    package static func stands(
        _ part: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, at offset: Int
    ) -> Bool {
        guard offset >= 0, offset <= text.count, part.count <= text.count - offset else {
            return false
        }
        guard let left = part.baseAddress, let right = text.baseAddress else { return true }
        return memcmp(left, right + offset, part.count) == 0
    }
}
