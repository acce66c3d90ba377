"""Universities with departments, staff, students and courses, after LUBM (Guo, Pan, Heflin 2005), as edges only."""
import numpy as np

from . import Writer


def write(folder, universities=50):
    rng = np.random.Generator(np.random.PCG64(5))
    departments = rng.integers(15, 26, universities)
    department_of = np.repeat(np.arange(universities), departments)
    count = len(department_of)
    made = Writer(folder)
    made.nodes("University", universities)
    made.nodes("Department", count)
    made.edges("subOrganizationOf", "Department", "University", np.arange(count), department_of)
    # LUBM's shares of one department.
    professors = rng.integers(7 + 10 + 8, 10 + 14 + 11 + 1, count)
    undergraduates, graduates = professors * rng.integers(8, 15, count), professors * rng.integers(3, 5, count)
    courses = professors * rng.integers(2, 5, count)
    bounds = np.concatenate([[0], np.cumsum(courses)])

    def members(label, each, kind):
        home = np.repeat(np.arange(count), each)
        made.nodes(label, len(home))
        made.edges(kind, label, "Department", np.arange(len(home)), home)
        return home

    staff = members("Professor", professors, "worksFor")
    made.nodes("Course", int(courses.sum()))
    course_home = np.repeat(np.arange(count), courses)
    first = np.concatenate([[0], np.cumsum(professors)])
    made.edges("teacherOf", "Professor", "Course", first[course_home] + rng.integers(0, 1 << 30, len(course_home)) % professors[course_home],
               np.arange(len(course_home)))
    for label, each, least, most in [("UndergraduateStudent", undergraduates, 2, 4), ("GraduateStudent", graduates, 1, 3)]:
        home = members(label, each, "memberOf")
        taken = rng.integers(least, most + 1, len(home))
        student = np.repeat(np.arange(len(home)), taken)
        at = home[student]
        course = bounds[at] + rng.integers(0, 1 << 30, len(student)) % courses[at]
        made.edges("takesCourse", label, "Course", student, course)
        advised = np.flatnonzero(rng.random(len(home)) < (0.2 if label.startswith("Under") else 1.0))
        at = home[advised]
        made.edges("advisor", label, "Professor", advised, first[at] + rng.integers(0, 1 << 30, len(at)) % professors[at])
    made.finish({"professors": len(staff)})
