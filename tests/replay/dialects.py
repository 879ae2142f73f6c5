# SPDX-License-Identifier: MIT
"""Tables in the dialects that people write, the options of data.csv for them, and what is read or said."""

# What pandas reads of these (`./check peers tables` looks): read_csv with the options of the same names (sep of separator, header=None of header = false),
# to_datetime(format=…, utc=True) of dates.
DIALECTS = [
    (b"a,b\r1,2\r3,4\r", "", "a=1|3 b=2|4"),
    (b"a,b\ninf,1\n-inf,2\n1,3\nInfinity,4\n", "", "a=inf|-inf|1.0|inf b=1|2|3|4"),
    (b"a;b\n1,5;2\n-0,25;3\n", 'separator = ";", decimal = ","', "a=1.5|-0.25 b=2|3"),
    (b'a,b\n"1,234",1\n"12,345,678",2\n-5,3\n', 'thousands = ","', "a=1234|12345678|-5 b=1|2|3"),
    (b"a;b\n1.234,5;1\n12.345,25;2\n", 'separator = ";", decimal = ",", thousands = "."', "a=1234.5|12345.25 b=1|2"),
    (b"# made by hand\na,b\n1,2 # two\n# nothing\n3,4\n", 'comment = "#"', "a=1|3 b=2|4"),
    (b"title\n\nunits,x\na,b\n1,2\n", "skiprows = 3", "a=1 b=2"),
    (b"150,4,setosa,versicolor\n5.5,3.5,0\n4.5,3.0,1\n", 'skiprows = 1, names = { "a", "b", "c" }', "a=5.5|4.5 b=3.5|3.0 c=0|1"),
    (b"1,2\n3,4\n", "header = false", "0=1|3 1=2|4"),
    ("stadt,n\nKöln,1\nMünchen,2\n".encode("latin-1"), 'encoding = "latin-1"', "stadt=Köln|München n=1|2"),
    ("w,n\n5 €,1\n“x”,2\n".encode("cp1252"), 'encoding = "cp1252"', "w=5 €|“x” n=1|2"),
    (b"a,b,c\nTrue,TRUE,true\nFalse,FALSE,false\n", "", "a=1|0 b=1|0 c=1|0"),
    (b"a\nyes\nno\nyes\n", 'true_values = { "yes" }, false_values = { "no" }', "a=1|0|1"),
    (b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4\r\n", "", "a=1|3 b=2|4"),
    (b"a\tb\n1\t2\n", 'separator = "\\t"', "a=1 b=2"),
    (b"a,b\n1,<NA>\n#NA,2\n-nan,3\n", "", "a=1.0|nan|nan b=nan|2.0|3.0"),
    (b"id,v\n12345678901234567890,1\n12345678901234567891,2\n", "", "id=12345678901234567890|12345678901234567891 v=1|2"),
    (b"a,b,\n1,2,\n3,4,\n", "", "a=1|3 b=2|4"),
    (b"t,v\n2012-01-01 01:00:00,1\n2012-06-30 23:59:59,2\n", "", "t=1325379600|1341100799 v=1|2"),
    (b"t,v\n2012-01-01T01:00:00Z,1\n2012-01-01T01:00:00+02:00,2\n", "", "t=1325379600|1325372400 v=1|2"),
    (b"t,v\n01/02/2013,1\n31/12/1969,2\n", 'date_format = "%d/%m/%Y"', "t=15737|-1 v=1|2"),
    (b"t,v\n02/01/2013 13:05,1\n12/31/2013 00:00,2\n", 'date_format = "%m/%d/%Y %H:%M"', "t=1359723900|1388448000 v=1|2"),
    (b"t\n3 Jan 2020\n", 'date_format = "%d %b %Y"', "t=18264"),
    # and what is told
    ("stadt\nKöln\n".encode("latin-1"), "", '0.csv:2:1: this text is not UTF-8: encoding = "latin-1" or "cp1252" reads it'),
    (b"a\n1\n", 'decimal = ","', "data.csv: ',' stands in numbers and between fields: such a file has another separator"),
    (b"a\n1\n", 'encoding = "ebcdic"', 'data.csv: encoding must be "utf-8", "latin-1" or "cp1252", got "ebcdic"'),
    (b"a\n1\n", 'sep = ";"', "data.csv: unknown option 'sep': write separator"),
    (b"a\n1.234.56\n", 'thousands = ".", decimal = ",", separator = ";", types = { a = "number" }', '"1.234.56" is no number, as column "a" has'),
    (b"t\n2012-01-01 01:00\nNA\n", 'types = { t = "datetime" }', 'column "t" has 1 missing times, for which no number stands'),
]
