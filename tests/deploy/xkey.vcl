vcl 4.1;
import std;
import xkey;
backend default none;
