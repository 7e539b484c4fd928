import SheafDocument
import SheafTestSupport
import Testing

/// The numbers of field names, and the raw memory in which they are stored.
@Suite struct NameTableTests {
    @Test func `names keep their numbers while a table grows`() throws {
        let longest = String(repeating: "l", count: NameTable.maximumNameLength)
        // The spellings fill the memory for them several times.
        let names: [String] = ["", longest] + (0..<300).map { "the name \($0) of a field" }
        let spellings = names.map { Array($0.utf8) }
        var table = NameTable()
        var earlier: [NameTable] = []
        for (number, spelling) in spellings.enumerated() {
            #expect(table.number(of: spelling) == nil)
            let (added, again) = (table.add(spelling), table.add(spelling))
            #expect(added.map { Int($0) } == number && again == nil)
            if number % 50 == 0 { earlier.append(table) }
        }
        let tooLong = Array((longest + "l").utf8)
        let refused = table.add(tooLong)
        #expect(refused == nil && table.number(of: tooLong) == nil)
        #expect(table.count == names.count)
        #expect(earlier.map(\.count) == [1, 51, 101, 151, 201, 251, 301])
        // Tables shared their storage with the growing one when they were copied.
        for table in earlier + [table] {
            let wrong = names.indices.filter { number in
                let isKnown = number < table.count
                let found = table.number(of: spellings[number]).map { Int($0) }
                return table.name(number) != (isKnown ? names[number] : nil)
                    || found != (isKnown ? number : nil)
            }
            #expect(wrong == [])
            #expect(table.name(-1) == nil && table.name(table.count) == nil)
            let same = try #require(NameTable(Array(names.prefix(table.count))))
            #expect(table == same)
        }
    }

    @Test(.enabled(if: AllocationProbe.isPossible))
    func `a table releases its memory, also when it grows or is copied`() {
        for count in [1, 100] {
            // The names are so short that strings store them without memory of their own.
            let names = (0..<count).map { "n\($0)" }
            let lost = AllocationProbe.lostBlocks {
                guard var table = NameTable(names) else { return }
                let copy = table
                _ = table.add(Array("other".utf8))
                withExtendedLifetime(copy) {}
            }
            #expect(lost == 0, "\(count) names")
        }
    }
}
