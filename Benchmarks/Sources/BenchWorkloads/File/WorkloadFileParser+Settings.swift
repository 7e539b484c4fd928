import BenchHarness

/// The keys of the section `[run]`, and numbers.
extension WorkloadFileParser {
    mutating func setRun(_ key: String, _ value: LocatedText) throws(WorkloadFileError) {
        switch key {
        case "tasks": file.settings.tasks = try integer(key, value, 1...1_000)
        case "duration", "operations":
            guard !hasLimit else {
                throw error(
                    "duration and operations are both set", hint: "remove one of them",
                    at: value.start)
            }
            hasLimit = true
            file.settings.limit =
                key == "duration"
                ? .seconds(try seconds(key, value))
                : .operations(try integer(key, value, 1...1_000_000_000))
        case "warm-up": file.settings.warmUpSeconds = try seconds(key, value)
        case "rounds": file.settings.rounds = try integer(key, value, 1...1_000)
        case "durability": file.settings.durability = try choice(key, value)
        case "rows": file.settings.rows = try choice(key, value)
        default:
            guard let seed = UInt64(value.text) else {
                throw error(
                    "seed must be an integer from 0 to 2^64 - 1, not "
                        + WorkloadFileError.shortened(value.text), at: value.start)
            }
            file.settings.seed = seed
        }
    }

    private func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, _ value: LocatedText
    ) throws(WorkloadFileError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: value.text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: " or ")
            throw error(
                "\(key) must be \(known), not \(WorkloadFileError.shortened(value.text))",
                at: value.start)
        }
        return choice
    }

    func integer(
        _ key: String, _ value: LocatedText, _ range: ClosedRange<Int>
    ) throws(WorkloadFileError) -> Int {
        guard let number = Int(value.text.filter { $0 != "_" && $0 != "," }),
            range.contains(number)
        else {
            throw error(
                "\(key) must be an integer from \(range.lowerBound) to \(range.upperBound), not "
                    + WorkloadFileError.shortened(value.text), at: value.start)
        }
        return number
    }

    func weight(_ value: LocatedText) throws(WorkloadFileError) -> Double {
        guard let number = Double(value.text), (0.000_001...1_000_000_000).contains(number) else {
            throw error(
                "weight must be a number from 0.000001 to 1000000000, not "
                    + WorkloadFileError.shortened(value.text), at: value.start)
        }
        return number
    }

    /// Returns a duration such as `1.5 s`, `200 ms` or `2 min`, in seconds.
    private func seconds(_ key: String, _ value: LocatedText) throws(WorkloadFileError) -> Double {
        let units = [("ms", 0.001), ("min", 60), ("s", 1)]
        for (unit, factor) in units where value.text.hasSuffix(unit) {
            let digits = value.text.dropLast(unit.count).filter { !$0.isWhitespace }
            guard let count = Double(digits), (0.01...3_600).contains(count * factor) else { break }
            return count * factor
        }
        throw error(
            "\(key) must be a time from 10 ms to 60 min, such as 2 s, not "
                + WorkloadFileError.shortened(value.text), at: value.start)
    }
}
