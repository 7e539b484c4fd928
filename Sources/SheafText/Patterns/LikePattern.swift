/// A pattern of literals, single scalars and gaps, which covers LIKE and simple regular
/// expressions.
///
/// Gaps separate a pattern into segments. Unless the pattern begins with a gap, the first segment
/// must match at the start of the text; unless it ends with one, the last segment must match at the
/// end. The others are matched from left to right at the earliest position, which never requires
/// backtracking.
struct LikePattern: Sendable {
    /// An element of a pattern.
    enum Element {
        case scalar(UInt32)
        /// `_`, any single scalar.
        case one
        /// `%`, any sequence of scalars.
        case gap
    }

    /// The bytes between two gaps.
    private struct Segment {
        let lower: Int
        let upper: Int
        let hasWildcards: Bool
    }

    /// The byte that represents any scalar; it never occurs in UTF-8.
    private static let wildcard: UInt8 = 0xFF

    private let segments: [Segment]
    private let bytes: [UInt8]
    private let startsWithGap: Bool
    private let endsWithGap: Bool
    let ignoresCase: Bool

    init(_ elements: some Sequence<Element>, ignoresCase: Bool) {
        var segments: [Segment] = []
        var bytes: [UInt8] = []
        var start = 0
        var hasWildcards = false
        var lastWasGap = false
        var count = 0
        var gapFirst = false
        for element in elements {
            lastWasGap = false
            switch element {
            case .scalar(let scalar):
                let folded = ignoresCase ? CaseFolding.lower(scalar) : scalar
                bytes += Unicode.Scalar(folded).flatMap(UTF8.encode) ?? .init()
            case .one:
                bytes.append(Self.wildcard)
                hasWildcards = true
            case .gap:
                if count == 0 { gapFirst = true }
                if start < bytes.count {
                    segments.append(
                        Segment(lower: start, upper: bytes.count, hasWildcards: hasWildcards))
                }
                start = bytes.count
                hasWildcards = false
                lastWasGap = true
            }
            count += 1
        }
        if start < bytes.count {
            segments.append(Segment(lower: start, upper: bytes.count, hasWildcards: hasWildcards))
        }
        self.segments = segments
        self.bytes = bytes
        self.ignoresCase = ignoresCase
        startsWithGap = gapFirst
        endsWithGap = lastWasGap
    }

    // MARK: Properties for the planner

    /// Bytes with which every matching text begins; empty if the pattern is case-insensitive.
    var literalPrefix: [UInt8] {
        guard !ignoresCase, !startsWithGap, let first = segments.first else { return [] }
        return Array(bytes[first.lower..<first.upper].prefix { $0 != Self.wildcard })
    }

    /// Whether the pattern is a pure prefix match.
    var isPrefix: Bool {
        guard !ignoresCase, endsWithGap else { return false }
        return segments.isEmpty
            || !startsWithGap && segments.count == 1 && !segments[0].hasWildcards
    }

    /// The only matching text, or nil.
    var literal: [UInt8]? {
        guard !ignoresCase, !startsWithGap, !endsWithGap, segments.count < 2 else { return nil }
        guard let only = segments.first else { return [] }
        return only.hasWildcards ? nil : bytes
    }

    // MARK: Matching

    /// Whether the complete text matches; nil if the fuel runs out.
    func matches(_ text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        fuel -= text.count + 1
        guard fuel >= 0 else { return nil }
        guard ignoresCase else { return matches(exactly: text, fuel: &fuel) }
        return CaseFolding.withLower(text) { matches(exactly: $0, fuel: &fuel) }
    }

    private func matches(exactly text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        bytes.withUnsafeBytes { bytes in
            func part(_ segment: Segment) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: bytes[segment.lower..<segment.upper])
            }
            var text = text
            var start = 0
            var index = 0
            if !startsWithGap {
                guard let first = segments.first else { return endsWithGap || text.isEmpty }
                guard let end = end(of: part(first), first.hasWildcards, in: text, at: 0)
                else { return false }
                start = end
                index = 1
            }
            var last = segments.count
            if !endsWithGap {
                guard index < last else { return start == text.count }
                last -= 1
                let begin = begin(
                    of: part(segments[last]), segments[last].hasWildcards, in: text)
                guard let begin, begin >= start else { return false }
                text = UnsafeRawBufferPointer(rebasing: text[..<begin])
            }
            while index < last {
                let segment = segments[index]
                guard
                    let end = segment.hasWildcards
                        ? search(part(segment), in: text, from: start, fuel: &fuel)
                        : TextSearch.first(part(segment), in: text, from: start).map({
                            $0 + segment.upper - segment.lower
                        })
                else { return fuel < 0 ? nil : false }
                start = end
                index += 1
            }
            return true
        }
    }

    /// Returns the end of a segment that begins at `offset`, or nil if it does not match there.
    @inline(__always)
    private func end(
        of segment: UnsafeRawBufferPointer, _ hasWildcards: Bool,
        in text: UnsafeRawBufferPointer, at offset: Int
    ) -> Int? {
        guard hasWildcards else {
            let stands = TextSearch.stands(segment, in: text, at: offset)
            return stands ? offset + segment.count : nil
        }
        var offset = offset
        for byte in segment {
            guard offset < text.count else { return nil }
            if byte == Self.wildcard {
                offset += UTF8Walk.length(text, at: offset)
            } else {
                guard text[offset] == byte else { return nil }
                offset += 1
            }
        }
        return offset
    }

    /// Returns the start of a segment that ends with the text, or nil if it does not match there.
    private func begin(
        of segment: UnsafeRawBufferPointer, _ hasWildcards: Bool, in text: UnsafeRawBufferPointer
    ) -> Int? {
        guard hasWildcards else {
            let offset = text.count - segment.count
            return TextSearch.stands(segment, in: text, at: offset) ? offset : nil
        }
        var offset = text.count
        for byte in segment.reversed() {
            guard offset > 0 else { return nil }
            if byte == Self.wildcard {
                offset = UTF8Walk.start(text, ofScalarBefore: offset)
            } else {
                offset -= 1
                guard text[offset] == byte else { return nil }
            }
        }
        return offset
    }

    /// Returns the end of the first match of a segment; nil if there is none or the fuel runs out.
    ///
    /// Wildcards rule out the table of a linear search, so each position consumes fuel.
    private func search(
        _ segment: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int,
        fuel: inout Int
    ) -> Int? {
        var position = start
        // Each byte of a segment matches at least one byte.
        while segment.count <= text.count - position {
            var offset = position
            var index = 0
            while index < segment.count, offset < text.count {
                if segment[index] == Self.wildcard {
                    offset += UTF8Walk.length(text, at: offset)
                } else if segment[index] == text[offset] {
                    offset += 1
                } else {
                    break
                }
                index += 1
            }
            if index == segment.count { return offset }
            // The text ended within the segment, which later positions cannot avoid.
            if offset == text.count { return nil }
            fuel -= index + 1
            guard fuel >= 0 else { return nil }
            position += UTF8Walk.length(text, at: position)
        }
        return nil
    }
}

extension LikePattern {
    /// Parses the pattern of LIKE; the scalar after `escape` is a literal.
    static func elements(
        _ pattern: String, escape: Unicode.Scalar?
    ) throws(PatternError) -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(pattern.utf8.count)
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if isEscaped {
                elements.append(.scalar(scalar.value))
                isEscaped = false
                continue
            }
            switch scalar {
            case escape: isEscaped = true
            case "%": elements.append(.gap)
            case "_": elements.append(.one)
            default: elements.append(.scalar(scalar.value))
            }
        }
        if isEscaped {
            let end = pattern.utf8.count
            let escape = escape.map { String($0).utf8.count } ?? 1
            throw PatternParser.danglingEscape(at: end - escape..<end, in: pattern)
        }
        return elements
    }
}
