import SheafBytes

/// Why a value of Foundation has no counterpart in a document, and where it lies.
struct Unbridgeable: Error, Equatable, CustomStringConvertible {
    enum Step: Equatable {
        case name(String)
        case index(Int)
    }

    /// From the outside to the inside.
    private(set) var path: [Step] = []
    let problem: String

    init(_ problem: String) {
        self.problem = problem
    }

    /// The same, seen from the array or the object in which it lies.
    func within(_ step: Step) -> Unbridgeable {
        var outer = self
        outer.path.insert(step, at: 0)
        return outer
    }

    var description: String {
        var place = ""
        for step in path {
            switch step {
            case .name(let name): place += place.isEmpty ? name : ".\(name)"
            case .index(let index): place += "[\(index)]"
            }
        }
        return place.isEmpty ? problem : "\(place.shortened): \(problem)"
    }
}
