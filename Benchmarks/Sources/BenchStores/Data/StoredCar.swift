/// A car with its id, as a `Codable` type of an application.
package struct StoredCar: Codable, Sendable {
    /// The owner of a car.
    package struct Owner: Codable, Sendable {
        package var name: String
        package var city: String
    }

    package var _id: String
    package var make: String
    package var model: String
    package var year: Int
    package var color: String
    package var mileage: Int
    package var price: Double
    package var sold: Bool
    package var owner: Owner
    package var tags: [String]
    package var description: String
}
