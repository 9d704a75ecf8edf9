import Streams
import Testing

@Suite("Fixtures of store notifications")
struct StoreNotificationFixtureTests {
    @Test(
        "the records of a fixture give its rows, and repeated they change no number",
        arguments: Fixture.all(of: "store-notifications"))
    func fixture(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let records = try Fixture.records(of: document)
        let result = try foldNotifications(records)
        Fixture.check(result, against: document["expected"] ?? [:])
        let again = try foldNotifications(records + records)
        #expect(again.rows("store-notifications") == result.rows("store-notifications"))
        #expect(again.outcome(.accepted) == result.outcome(.accepted))
    }

    @Test("the fixtures are there, and among them they use every measure")
    func present() throws {
        let fixtures = Fixture.all(of: "store-notifications")
        #expect(fixtures.count >= 8)
        var used: Set<String> = []
        for fixture in fixtures {
            let rows = try fixture.document()["expected.store-notifications"]?.elements ?? []
            used.formUnion(rows.flatMap { $0.members.map(\.name) })
        }
        #expect(used.isSuperset(of: StoreNotificationsKey.table.measures))
    }
}
