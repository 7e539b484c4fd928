/// The figures of scenes, each printed when it is added, and the broken limits.
struct FirstSyncFigures {
    var scene = ""
    private(set) var broken: [String] = []

    mutating func add(
        _ name: String, _ value: Int, atLeast least: Int? = nil, atMost most: Int? = nil
    ) {
        var line = "\(scene): \(value) \(name)"
        if let least { line += ", at least \(least) wanted" }
        if let most { line += ", at most \(most) wanted" }
        print(line)
        if value < least ?? .min || value > most ?? .max { broken.append(line) }
    }
}
