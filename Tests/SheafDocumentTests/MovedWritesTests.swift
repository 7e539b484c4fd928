import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Reassignment of the writes since a pause to a new site (`format-spec/commits.md`, *Sites*).
@Suite struct MovedWritesTests {
    private let site = Site(rawValue: 1)
    private let other = Site(rawValue: 0x100)

    private func stamp(_ time: UInt64, _ site: Site) -> Stamp {
        Stamp(HybridTime(rawValue: time), site)
    }

    private func move(
        _ document: BytesDocument, of site: Site, after time: HybridTime,
        areLost: Bool = false
    ) -> BytesDocument? {
        let bytes = document.read {
            areLost
                ? try $0?.assigningLostWrites(of: site, after: time, to: other, NameTable())
                : try $0?.movingWrites(of: site, after: time, to: other, NameTable())
        }
        return bytes.map { BytesDocument($0) }
    }

    @Test func `the other writes of a statement survive a lost restart`() throws {
        var before = BytesDocument()
        before.insert(["f": 0], stamp: stamp(5, Site(rawValue: 2)))
        before.apply(
            [
                .set(path: ["f"], to: 1), .set(path: ["m"], to: [:]),
                .restart(path: ["c"], with: .integer(0)),
            ], stamp: stamp(10, site))
        var forgotten = before
        forgotten.apply(
            [
                .set(path: ["f"], to: 2), .set(path: ["m"], to: [:]),
                .restart(path: ["c"], with: .integer(7)),
            ], stamp: stamp(30, site))
        var store = before
        store.apply([.increment(path: ["c"], by: .integer(2))], stamp: stamp(50, site))
        let moved = try #require(move(store, of: site, after: HybridTime(rawValue: 20)))
        moved.validate()
        #expect(
            moved.dump == [
                "/c|restart|10.1||" + key(0), "/c|sum|50.1|10.1|" + key(2),
                "/f|value|10.256||" + key(1), "/m|mark|10.256||", "|mark|5.2||",
                "|vector|5.2||", "|vector|50.1||", "|vector|50.256||",
            ])
        let joined = moved.joined(with: forgotten)
        #expect(joined.value == ["c": 7, "f": 1, "m": [:]])
        #expect(forgotten.joined(with: moved) == joined)
    }

    @Test func `a document of the maximum depth is moved and joined`() throws {
        func nested(_ leaf: Value) -> Object {
            var object: Object = ["a": leaf]
            for _ in 1..<Value.maximumDepth { object = ["a": .object(object)] }
            return object
        }
        var document = BytesDocument()
        document.insert(nested(1), stamp: stamp(30, site))
        let moved = try #require(move(document, of: site, after: HybridTime(rawValue: 20)))
        moved.validate()
        #expect(moved.value == Value.object(nested(1)))
        var later = BytesDocument()
        later.insert(nested(2), stamp: stamp(40, Site(rawValue: 2)))
        let joined = moved.joined(with: later)
        joined.validate()
        #expect(joined.value == Value.object(nested(2)))
        #expect(later.joined(with: moved) == joined)
    }

    private func key(_ value: Value) -> String {
        var writer = SortKeyWriter()
        writer.append(value)
        return writer.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `a lost addition is neither dropped nor counted twice`() throws {
        var before = BytesDocument()
        before.insert(["f": 0], stamp: stamp(5, Site(rawValue: 2)))
        before.apply(
            [.increment(path: ["c"], by: .integer(5)), .increment(path: ["d"], by: .integer(5))],
            stamp: stamp(10, site))
        var forgotten = before
        forgotten.apply(
            [
                .set(path: ["f"], to: 1), .increment(path: ["c"], by: .integer(3)),
                .restart(path: ["d"], with: .integer(2)),
            ], stamp: stamp(30, site))
        forgotten.apply([.increment(path: ["d"], by: .integer(4))], stamp: stamp(31, site))
        var store = before
        store.apply([.set(path: ["g"], to: 1)], stamp: stamp(50, site))
        let moved = try #require(
            move(forgotten, of: site, after: HybridTime(rawValue: 20), areLost: true))
        moved.validate()
        #expect(
            moved.dump == [
                "/c|sum|30.256|0.0|" + key(8), "/d|restart|30.256||" + key(2),
                "/d|sum|31.256|30.256|" + key(4), "/f|value|30.256||" + key(1), "|mark|5.2||",
                "|vector|31.1||", "|vector|31.256||", "|vector|5.2||",
            ])
        let joined = moved.joined(with: store)
        #expect(joined.value == ["c": 8, "d": 6, "f": 1, "g": 1])
        #expect(store.joined(with: moved) == joined)
    }

    /// Slow clocks let several sites write at the same time.
    @Test(arguments: [false, true])
    func `moved documents have the same dots with other stamps, canonically encoded`(
        _ areLost: Bool
    ) {
        var count = 0
        for seed: UInt64 in 7_000..<7_030 {
            var history = ModelHistory(seed: seed, peers: 3)
            var documents = Array(repeating: BytesDocument(), count: 3)
            for _ in 0..<60 {
                history.next().apply(to: &documents)
                let document = documents[Int(seed % 3)]
                guard let latest = document.vector.entries.first(where: { $0.site == site })?.time
                else { continue }
                let time = HybridTime(rawValue: latest.rawValue / 2)
                guard let moved = move(document, of: site, after: time, areLost: areLost)
                else { continue }
                count += 1
                #expect(moved.mistake == nil, "seed \(seed)")
                let expected = expected(
                    document.dump, after: time.rawValue, areLost: areLost)
                #expect(moved.dump == expected, "seed \(seed)")
            }
        }
        #expect(count > 400)
    }

    /// Returns the lines of a dump after the move, as specified.
    private func expected(_ dump: [String], after time: UInt64, areLost: Bool) -> [String] {
        func isLater(_ stamp: Substring) -> Bool {
            let parts = stamp.split(separator: ".")
            return parts.last == "1" && UInt64(parts[0]).map { $0 > time } ?? false
        }
        let lines = dump.map { fields($0) }
        if areLost {
            func moved(_ stamp: Substring) -> Substring {
                isLater(stamp) ? stamp.dropLast(2) + ".256" : stamp
            }
            return lines.flatMap { line in
                var line = line
                guard line[1] == "vector", line[2].hasSuffix(".1") else {
                    line[2] = moved(line[2])
                    line[3] = moved(line[3])
                    return [line.joined(separator: "|")]
                }
                return ["|vector|\(line[2])||", "|vector|\(line[2].dropLast(2)).256||"]
            }.sorted()
        }
        let hasCounted = lines.contains { line in
            ["sum", "olderSum", "restart"].contains(line[1])
                && (isLater(line[2]) || isLater(line[3]))
        }
        let hasOthers = lines.contains { line in
            let parts = line[2].split(separator: ".")
            guard line[1] == "vector", parts[1] != "1" else { return false }
            return UInt64(parts[0]).map { $0 > time } ?? false
        }
        func changed(_ stamp: Substring, keeps: Bool) -> Substring {
            guard stamp.hasSuffix(".1"), !keeps else { return stamp }
            return isLater(stamp) == !hasCounted ? stamp.dropLast(2) + ".256" : stamp
        }
        var result: [String] = []
        for var line in lines {
            if line[1] == "vector", line[2].hasSuffix(".1") {
                let own = hasCounted || hasOthers ? String(line[2]) : "\(time).1"
                if own != "0.1" { result.append("|vector|\(own)||") }
                line[2] = line[2].dropLast(2) + ".256"
            } else {
                let isCounted = ["sum", "olderSum", "restart"].contains(line[1])
                line[2] = changed(line[2], keeps: hasCounted && isCounted)
                line[3] = changed(line[3], keeps: hasCounted)
            }
            result.append(line.joined(separator: "|"))
        }
        return result.sorted()
    }

    /// Splits a line of a dump at its last four separators.
    private func fields(_ line: String) -> [Substring] {
        var parts = line.split(separator: "|", omittingEmptySubsequences: false)
        while parts.count > 5 {
            parts[0] = parts[0] + "|" + parts[1]
            parts.remove(at: 1)
        }
        return parts
    }
}
