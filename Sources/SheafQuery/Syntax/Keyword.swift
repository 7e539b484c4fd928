/// A keyword of the query language; most keywords are also valid names.
enum Keyword: String, CaseIterable, Sendable {
    case advise, all, alter, and, any, apply, array, `as`, asc, attachment
    case between, both, by
    case `case`, cast, collection, commit, conflict, counter, create, cross
    case `default`, delete, desc, directives, distinct, `do`, documents, drop
    case `else`, end, escape, every, evict, except, exists, explain
    case fail, `false`, `for`, from, full
    case group
    case having
    case id, ids, `if`, ilike, `in`, increment, index, initial, inner, insert, intersect, into, `is`
    case join
    case leading, left, like, limit, list
    case map, merge, missing
    case natural, neg, not, nothing, null
    case object, of, offset, on, or, order, outer
    case pnCounter = "pn_counter"
    case pnIncrement = "pn_increment"
    case position, profile, provision
    case register, reset, restart, returning, right
    case satisfies, select, set, show, similar, system
    case then, to, trailing, trim, `true`
    case union, unknown, unset, update
    case updateLocalDiff = "update_local_diff"
    case use
    case values
    case when, `where`, with, within
    case xor

    /// The keyword in upper case, as messages show it.
    var spelling: String { rawValue.uppercased() }
}

/// The keywords in upper case, in alphabetical order.
package enum KeywordList {
    package static let spellings = Keyword.allCases.map(\.spelling)
}

extension Keyword {
    /// The contexts in which a keyword needs backticks to be a name.
    enum Reservation: Int, Sendable {
        /// Valid as a name everywhere.
        case nowhere
        /// Invalid as the name of a collection or index, and as an alias without AS.
        case besideClauses
        /// Valid as a name only where no other token is possible, such as after a dot.
        case everywhere
    }

    var reservation: Reservation {
        switch self {
        case .and, .any, .array, .as, .between, .case, .distinct, .else, .every, .false, .for,
            .from,
            .group, .having, .ilike, .in, .is, .like, .missing, .not, .null, .object, .or, .order,
            .satisfies, .select, .similar, .then, .true, .when, .where, .within, .xor:
            .everywhere
        case .apply, .by, .collection, .cross, .end, .except, .full, .inner, .intersect, .into,
            .join, .left, .limit, .natural, .offset, .on, .returning, .right, .set, .union, .unset,
            .use:
            .besideClauses
        default: .nowhere
        }
    }
}

/// A hash table from words to keywords.
struct KeywordTable: Sendable {
    private struct Slot: Sendable {
        var start: Int32 = 0
        var count: Int32 = 0
        var keyword: Keyword?
    }

    static let shared = KeywordTable()
    private static let mask = 511

    private var slots = [Slot](repeating: Slot(), count: mask + 1)
    private var letters: [UInt8] = []

    private init() {
        for keyword in Keyword.allCases {
            let spelling = keyword.rawValue.utf8.map(Self.folded)
            var index = spelling.withUnsafeBufferPointer { Self.hash($0) }
            while slots[index].keyword != nil { index = (index + 1) & Self.mask }
            slots[index] = Slot(
                start: Int32(letters.count), count: Int32(spelling.count), keyword: keyword)
            letters += spelling
        }
    }

    /// Returns the keyword of a word in any case; the word must not be empty.
    func keyword(_ word: UnsafeBufferPointer<UInt8>) -> Keyword? {
        var index = Self.hash(word)
        while let keyword = slots[index].keyword {
            if matches(slots[index], word) { return keyword }
            index = (index + 1) & Self.mask
        }
        return nil
    }

    private func matches(_ slot: Slot, _ word: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(slot.count) == word.count else { return false }
        for index in word.indices
        where letters[Int(slot.start) + index] != Self.folded(word[index]) {
            return false
        }
        return true
    }

    /// Folds a letter to lower case; the other bytes of names stay distinct.
    private static func folded(_ byte: UInt8) -> UInt8 { byte | 0x20 }

    private static func hash(_ word: UnsafeBufferPointer<UInt8>) -> Int {
        let first = Int(folded(word[0]))
        let middle = Int(folded(word[word.count / 2]))
        let last = Int(folded(word[word.count - 1]))
        return (first &* 7 &+ middle &* 61 &+ last &* 31 &+ word.count &* 131) & mask
    }
}
